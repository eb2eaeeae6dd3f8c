package leases_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Leases and timeout keys of the holds on both sides of a read-write lock.

func TestADowngradeIsRenewedForAsLongAsItIsHeldAndLetsReadersIn(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m, ctx := s.Client.RWMutex("job"), s.Client.WithOwner(t.Context())
		w, r := check.Must(m.Lock(ctx)), check.Must(m.RLock(ctx))
		other := s.Other(redlatch.Config{PollCap: time.Hour})
		var entered, wrote atomic.Int32
		var waiters sync.WaitGroup
		for range 5 {
			waiters.Go(func() {
				h := check.Must(other.RWMutex("job").RLock(t.Context()))
				entered.Add(1)
				time.Sleep(200 * time.Second)
				if err := h.Unlock(t.Context()); err != nil {
					t.Error("a reader lost its hold:", err)
				}
			})
		}
		synctest.Wait()
		waiters.Go(func() {
			h := check.Must(s.Other(redlatch.Config{}).RWMutex("job").Lock(t.Context()))
			wrote.Add(1)
			_ = h.Unlock(t.Context())
		})
		synctest.Wait()
		if err := w.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := entered.Load(); n != 5 {
			t.Errorf("%d of 5 readers entered at the downgrade", n)
		}
		time.Sleep(150 * time.Second) // five leases
		if !r.Valid() || wrote.Load() != 0 {
			t.Errorf("after five leases the downgraded hold is %v, writers inside: %d", r.Err(), wrote.Load())
		}
		if err := r.Unlock(ctx); err != nil {
			t.Error(err)
		}
		waiters.Wait()
		if wrote.Load() != 1 {
			t.Error("the writer did not get in after the readers")
		}
	})
}

func TestAnInnerReadDoesNotTouchTheWriteLease(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m, ctx := s.Client.RWMutex("job"), s.Client.WithOwner(t.Context())
		w := check.Must(m.Lock(ctx, redlatch.WithLease(10*time.Minute)))
		r := check.Must(m.RLock(ctx))
		time.Sleep(65 * time.Second) // the reader has been renewed
		check.Within(t, "TTL beside a renewed reader", s.TTL("job"), 530*time.Second, 540*time.Second)
		_ = r.Unlock(ctx)
		check.Within(t, "TTL after the inner release", s.TTL("job"), 530*time.Second, 600*time.Second)
		_ = w.Unlock(ctx)

		w = check.Must(m.Lock(ctx))
		_ = check.Must(m.RLock(ctx)).Unlock(ctx)
		time.Sleep(100 * time.Second)
		if !w.Valid() {
			t.Error("after an inner read, the write hold was not renewed:", w.Err())
		}
		_ = w.Unlock(ctx)
	})
}

func TestWriteReentryNeverOutlivesOneLease(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m, ctx := s.Client.RWMutex("job"), s.Client.WithOwner(t.Context())
		for range 10 {
			check.Must(m.Lock(ctx))
			check.Within(t, "TTL", s.TTL("job"), 29*time.Second, 30*time.Second)
		}
	})
}

// TestADeadReaderHoldsWritersOffForItsOwnLeaseOnly has a live reader that renews the
// lock all the time, and leaves only after the dead one's lease.
func TestADeadReaderHoldsWritersOffForItsOwnLeaseOnly(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		live := check.Must(s.Client.RWMutex("job").RLock(t.Context()))
		check.Must(s.Other(redlatch.Config{}).RWMutex("job").RLock(t.Context())).Detach() // its process died
		died := time.Now()
		time.Sleep(25 * time.Second)
		if err := live.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := check.Must(s.Other(redlatch.Config{PollCap: time.Hour}).RWMutex("job").Lock(t.Context()))
		check.Within(t, "time from the death to the writer", time.Since(died), 30*time.Second, 30*time.Second+20*time.Millisecond)
		_ = w.Unlock(t.Context())

		live = check.Must(s.Client.RWMutex("job").RLock(t.Context()))
		check.Must(s.Other(redlatch.Config{}).RWMutex("job").RLock(t.Context())).Detach()
		time.AfterFunc(40*time.Second, func() { _ = live.Unlock(t.Context()) })
		began := time.Now()
		w = check.Must(s.Client.RWMutex("job").Lock(t.Context()))
		check.Within(t, "wait behind a reader that outlived the dead one", time.Since(began), 40*time.Second, 40*time.Second+20*time.Millisecond)
		_ = w.Unlock(t.Context())
	})
}

// TestAReaderNeverShortensTheLifeOfTheLock has a writer besides, which goes by the readers that
// live and not by how long the lock could.
func TestAReaderNeverShortensTheLifeOfTheLock(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.RWMutex("job")
		long := check.Must(m.RLock(t.Context(), redlatch.WithLease(5*time.Minute)))
		short := check.Must(m.RLock(t.Context(), redlatch.WithLease(10*time.Second)))
		check.Within(t, "TTL with both", s.TTL("job"), 299*time.Second, 300*time.Second)
		_ = short.Unlock(t.Context())
		check.Within(t, "TTL after the short one left", s.TTL("job"), 299*time.Second, 300*time.Second)
		check.Must(m.RLock(t.Context(), redlatch.WithLease(10*time.Second)))
		_ = long.Unlock(t.Context())
		check.Within(t, "TTL after the long one left", s.TTL("job"), 299*time.Second, 300*time.Second)
		began := time.Now()
		_ = check.Must(s.Other(redlatch.Config{}).RWMutex("job").Lock(t.Context())).Unlock(t.Context())
		check.Within(t, "wait for the short one", time.Since(began), 10*time.Second, 10*time.Second+20*time.Millisecond)
	})
}

// TestAReaderWithoutItsTimeoutKeyIsDead has what a crash and a downgrade by an older
// peer leave behind: a lock that lives on, with readers that do not.
func TestAReaderWithoutItsTimeoutKeyIsDead(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		const dead = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1"
		m := c.RWMutex(name)
		fixture.Do(t, d, "HSET", name, "mode", "read", dead, "2")
		fixture.Do(t, d, "PEXPIRE", name, "600000")
		live := check.Must(m.TryRLock(t.Context()))
		_, err := m.TryLock(t.Context())
		check.Is(t, "TryLock beside a live reader", err, redlatch.ErrNotAcquired)
		_ = live.Unlock(t.Context())
		if got := fixture.Fields(t, d, name); got != "" {
			t.Errorf("after the last live reader left the hash is %q, want none", got)
		}

		fixture.Do(t, d, "HSET", name, "mode", "read", dead, "2")
		fixture.Do(t, d, "PEXPIRE", name, "600000")
		w, err := m.TryLock(t.Context())
		if err != nil {
			t.Fatal("beside a dead reader:", err)
		}
		check.Within(t, "TTL", fixture.PTTL(t, d, name), 29*time.Second, 30*time.Second)
		_ = w.Unlock(t.Context())
	})
}

func TestAThousandReadersAreRenewedInBatches(t *testing.T) {
	server := redistest.Start(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{LeaseTime: 3 * time.Second})
	m := c.RWMutex("job")
	var holds []*redlatch.Hold
	for range 1000 {
		holds = append(holds, check.Must(m.RLock(t.Context())))
	}
	before := c.Stats().Renewals
	server.CLI(t, "CONFIG", "RESETSTAT")
	redistest.Eventually(t, 10*time.Second, func() bool { return c.Stats().Renewals >= before+3000 }, "each is renewed three times")
	stats := server.CLI(t, "INFO", "commandstats").(string)
	var scripts int
	for _, line := range strings.Split(stats, "\r\n") {
		_, _ = fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &scripts)
	}
	check.Within(t, "scripts for 3,000 renewals", scripts, 1, 300) // a batch is smaller if its readers came slowly
	began := time.Now()
	for _, h := range holds {
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a release with up to 1,000 readers present: %v on average", time.Since(began)/1000)
	if keys := server.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
}
