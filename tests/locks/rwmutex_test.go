package locks_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

func TestWhatAnRWMutexLeavesInRedis(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		told := fixture.Messages(t, d, "redisson_rwlock:{"+name+"}")
		m, ctx, v := c.RWMutex(name), c.WithOwner(t.Context()), rwView{d, name}
		var reader *redlatch.Hold
		t.Run("two readers", func(t *testing.T) {
			one, two := check.Must(m.RLock(ctx)), check.Must(m.RLock(ctx))
			reader = one
			v.want(t, "after two read holds", one.Owner()+"=2 mode=read")
			for n := 1; n <= 2; n++ {
				check.Within(t, fmt.Sprint("TTL of read hold ", n), fixture.PTTL(t, d, v.timeout(one, n)), 29*time.Second, 30*time.Second)
				if got := fixture.Do(t, d, "GET", v.timeout(one, n)).Str; got != "1" {
					t.Errorf("the timeout key of hold %d is %q, want \"1\"", n, got)
				}
			}
			release(t, ctx, two)
			v.want(t, "after one release", one.Owner()+"=1 mode=read")
			if fixture.Do(t, d, "EXISTS", v.timeout(one, 2)).Int != 0 || fixture.Do(t, d, "EXISTS", v.timeout(one, 1)).Int != 1 {
				t.Error("the timeout keys do not agree with the count")
			}
			release(t, ctx, one)
			v.want(t, "after the last release", "")
			if got := <-told; got != "0" {
				t.Errorf("the last reader published %q, want \"0\"", got)
			}
		})
		t.Run("a downgrade", func(t *testing.T) {
			outer, inner := check.Must(m.Lock(ctx)), check.Must(m.Lock(ctx))
			owner := outer.Owner()
			if owner == reader.Owner() || inner.Owner() != owner {
				t.Errorf("the owner that was %s writes as %s and %s: one new name for both is due", reader.Owner(), owner, inner.Owner())
			}
			v.want(t, "after two write holds", owner+":write=2 mode=write")
			check.Within(t, "TTL after write re-entry", fixture.PTTL(t, d, name), 29*time.Second, 30*time.Second)
			read := check.Must(m.RLock(ctx))
			v.want(t, "after reading inside", owner+":write=2 "+owner+"=1 mode=write")
			release(t, ctx, inner)
			release(t, ctx, outer)
			v.want(t, "after the downgrade", owner+"=1 mode=read")
			if got := <-told; got != "1" {
				t.Errorf("the downgrade published %q, want \"1\"", got)
			}
			release(t, ctx, read)
			v.want(t, "after all", "")
			<-told
		})
		t.Run("a writer", func(t *testing.T) {
			release(t, ctx, check.Must(m.Lock(ctx)))
			if got := <-told; got != "1" {
				t.Errorf("the writer published %q, want \"1\"", got)
			}
			if n := fixture.Do(t, d, "EXISTS", v.timeout(reader, 1)).Int; n != 0 {
				t.Error("a timeout key is left")
			}
		})
	})
}

// rwView is what stands in Redis of a read-write lock.
type rwView struct {
	driver driver.Driver
	name   string
}

// timeout is the timeout key of an owner's read hold.
func (v rwView) timeout(h *redlatch.Hold, n int) string {
	return fmt.Sprintf("{%s}:%s:rwlock_timeout:%d", v.name, h.Owner(), n)
}

func (v rwView) want(t *testing.T, when, want string) {
	t.Helper()
	if got := fixture.Fields(t, v.driver, v.name); got != want {
		t.Errorf("%s the hash is %q, want %q", when, got, want)
	}
}

func release(t *testing.T, ctx context.Context, h *redlatch.Hold) {
	t.Helper()
	if err := h.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAnyNumberOfReadersOrOneWriter(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		a, b := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
		for _, readers := range []int{1, 2, 3, 50} {
			name := redistest.Name(t)
			var holds []*redlatch.Hold
			for i := range readers {
				c := []*redlatch.Client{a, b}[i%2]
				holds = append(holds, check.Must(c.RWMutex(name).TryRLock(t.Context())))
			}
			_, err := b.RWMutex(name).TryLock(t.Context())
			check.Is(t, fmt.Sprint("TryLock beside readers: ", readers), err, redlatch.ErrNotAcquired)
			status := check.Must(a.RWMutex(name).Status(t.Context()))
			if status.Mode != "read" || len(status.Holders) != readers {
				t.Errorf("status is %+v, want %d readers", status, readers)
			}
			for _, h := range holds {
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
			w := check.Must(b.RWMutex(name).TryLock(t.Context()))
			_, err = a.RWMutex(name).TryRLock(t.Context())
			check.Is(t, "TryRLock beside a writer", err, redlatch.ErrNotAcquired)
			_, err = a.RWMutex(name).TryLock(t.Context())
			check.Is(t, "TryLock beside a writer", err, redlatch.ErrNotAcquired)
			status = check.Must(a.RWMutex(name).Status(t.Context()))
			if status.Mode != "write" || len(status.Holders) != 1 || !status.Holders[0].Write || status.Holders[0].Owner != w.Owner() {
				t.Errorf("status is %+v, want the writer %s", status, w.Owner())
			}
			if err := w.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestUpgradeIsRefusedAtOnce(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, name := fixture.Open(t, url, redlatch.Config{}), redistest.Name(t)
		m := c.RWMutex(name)
		h := check.Must(m.RLock(t.Context()))
		_, err := m.Lock(h.Context())
		check.Is(t, "Lock below a read hold", err, redlatch.ErrUpgrade)
		_, err = m.RLock(h.Context())
		check.Is(t, "RLock below a read hold, by another owner", err, redlatch.ErrReentry)
		_ = h.Unlock(t.Context())

		ctx := c.WithOwner(t.Context())
		h = check.Must(m.RLocker().Lock(ctx))
		_, err = m.Lock(ctx)
		check.Is(t, "Lock by a reading owner", err, redlatch.ErrUpgrade)
		_ = h.Unlock(ctx)
		w := check.Must(m.Lock(ctx))
		r := check.Must(m.RLock(ctx))
		again := check.Must(m.Lock(ctx))
		for _, h := range []*redlatch.Hold{again, w, r} {
			if err := h.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestForceUnlockOfEitherSideLeavesNothing(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		m, ctx := c.RWMutex(name), c.WithOwner(t.Context())
		if check.Must(m.ForceUnlock(ctx)) {
			t.Error("a free lock was forced")
		}
		for _, lock := range []redlatch.Lock{m, m.RLocker()} {
			h := check.Must(lock.Lock(ctx))
			check.Must(lock.Lock(ctx)).Detach()
			if !check.Must(m.ForceUnlock(ctx)) {
				t.Error("a held lock was not forced")
			}
			for n := 1; n <= 2; n++ {
				if fixture.Do(t, d, "EXISTS", fmt.Sprintf("{%s}:%s:rwlock_timeout:%d", name, h.Owner(), n)).Int != 0 {
					t.Error("a timeout key is left")
				}
			}
			check.Is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		}
	})
}

func TestKeysThatAreNoRWLock(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		m := c.RWMutex(name)
		for _, make := range [][]string{{"SET", name, "x"}, {"HSET", name, "name", "Ada"}, {"HSET", name, c.ID() + ":9", "1"}} {
			fixture.Do(t, d, make...)
			before := fixture.Content(t, d, name)
			_, err := m.Lock(t.Context())
			check.Is(t, "Lock", err, redlatch.ErrWrongType)
			_, err = m.RLock(t.Context())
			check.Is(t, "RLock", err, redlatch.ErrWrongType)
			_, err = m.ForceUnlock(t.Context())
			check.Is(t, "ForceUnlock", err, redlatch.ErrWrongType)
			_, err = m.Status(t.Context())
			check.Is(t, "Status", err, redlatch.ErrWrongType)
			if fixture.Content(t, d, name) != before {
				t.Error("it was changed")
			}
			fixture.Do(t, d, "DEL", name)
		}
	})
}

func TestAWriteReleaseLetsTheReadersOfEachProcessInTogether(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
		w := check.Must(s.Client.RWMutex("job").Lock(t.Context()))
		clients := []*redlatch.Client{s.Client, s.Other(redlatch.Config{PollCap: time.Hour})}
		var inside atomic.Int32
		var readers sync.WaitGroup
		leave := make(chan struct{})
		for i := range 100 {
			readers.Go(func() {
				h := check.Must(clients[i%2].RWMutex("job").RLock(t.Context()))
				inside.Add(1)
				<-leave
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		before := s.Driver.Trips.Load()
		if err := w.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := inside.Load(); n != 100 {
			t.Errorf("%d of 100 readers are inside", n)
		}
		check.Within(t, "requests to let 100 readers in", s.Driver.Trips.Load()-before, 2, 6)
		close(leave)
		readers.Wait()
	})
}

func TestAStreamOfReadersDoesNotStarveAWriterOfTheirProcess(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.RWMutex("job")
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for i := range 8 {
			readers.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond) // they overlap all the time
				for {
					select {
					case <-stop:
						return
					default:
					}
					h := check.Must(m.RLock(t.Context()))
					time.Sleep(80 * time.Millisecond)
					_ = h.Unlock(t.Context())
				}
			})
		}
		time.Sleep(time.Second)
		for range 20 {
			began := time.Now()
			w := check.Must(m.Lock(t.Context()))
			check.Within(t, "wait of the writer", time.Since(began), 0, 100*time.Millisecond)
			_ = w.Unlock(t.Context())
			time.Sleep(50 * time.Millisecond)
		}
		close(stop)
		readers.Wait()
	})
}
