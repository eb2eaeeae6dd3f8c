package redlatch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// fields writes a hash as "field=value field=value", in order.
func fields(t *testing.T, d driver.Driver, key string) string {
	t.Helper()
	var pairs []string
	words := do(t, d, "HGETALL", key).Array
	for i := 0; i < len(words); i += 2 {
		pairs = append(pairs, words[i].Str+"="+words[i+1].Str)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

func TestWhatAnRWMutexLeavesInRedis(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		told := messages(t, d, "redisson_rwlock:{"+name+"}")
		m, ctx := c.RWMutex(name), c.WithOwner(t.Context())
		timeout := func(h *redlatch.Hold, n int) string {
			return fmt.Sprintf("{%s}:%s:rwlock_timeout:%d", name, h.Owner(), n)
		}
		unlock := func(h *redlatch.Hold) {
			t.Helper()
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		state := func(when, want string) {
			t.Helper()
			if got := fields(t, d, name); got != want {
				t.Errorf("%s the hash is %q, want %q", when, got, want)
			}
		}

		one, two := must(m.RLock(ctx)), must(m.RLock(ctx))
		owner := one.Owner()
		state("after two read holds", owner+"=2 mode=read")
		for n := 1; n <= 2; n++ {
			within(t, fmt.Sprint("TTL of read hold ", n), pttl(t, d, timeout(one, n)), 29*time.Second, 30*time.Second)
			if got := do(t, d, "GET", timeout(one, n)).Str; got != "1" {
				t.Errorf("the timeout key of hold %d is %q, want \"1\"", n, got)
			}
		}
		unlock(two)
		state("after one release", owner+"=1 mode=read")
		if do(t, d, "EXISTS", timeout(one, 2)).Int != 0 || do(t, d, "EXISTS", timeout(one, 1)).Int != 1 {
			t.Error("the timeout keys do not agree with the count")
		}
		unlock(one)
		state("after the last release", "")
		if got := <-told; got != "0" {
			t.Errorf("the last reader published %q, want \"0\"", got)
		}

		outer, inner := must(m.Lock(ctx)), must(m.Lock(ctx))
		if outer.Owner() == owner || inner.Owner() != outer.Owner() {
			t.Errorf("the owner that was %s writes as %s and %s: one new name for both is due", owner, outer.Owner(), inner.Owner())
		}
		owner = outer.Owner()
		state("after two write holds", owner+":write=2 mode=write")
		within(t, "TTL after write re-entry", pttl(t, d, name), 29*time.Second, 30*time.Second)
		read := must(m.RLock(ctx))
		state("after reading inside", owner+":write=2 "+owner+"=1 mode=write")
		unlock(inner)
		unlock(outer)
		state("after the downgrade", owner+"=1 mode=read")
		if got := <-told; got != "1" {
			t.Errorf("the downgrade published %q, want \"1\"", got)
		}
		unlock(read)
		state("after all", "")
		<-told
		unlock(must(m.Lock(ctx)))
		if got := <-told; got != "1" {
			t.Errorf("the writer published %q, want \"1\"", got)
		}
		if n := do(t, d, "EXISTS", timeout(one, 1)).Int; n != 0 {
			t.Error("a timeout key is left")
		}
	})
}

func TestAnyNumberOfReadersOrOneWriter(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		a, b := open(t, url, redlatch.Config{}), open(t, url, redlatch.Config{})
		for _, readers := range []int{1, 2, 3, 50} {
			name := redistest.Name(t)
			var holds []*redlatch.Hold
			for i := range readers {
				c := []*redlatch.Client{a, b}[i%2]
				holds = append(holds, must(c.RWMutex(name).TryRLock(t.Context())))
			}
			_, err := b.RWMutex(name).TryLock(t.Context())
			is(t, fmt.Sprint("TryLock beside readers: ", readers), err, redlatch.ErrNotAcquired)
			status := must(a.RWMutex(name).Status(t.Context()))
			if status.Mode != "read" || len(status.Holders) != readers {
				t.Errorf("status is %+v, want %d readers", status, readers)
			}
			for _, h := range holds {
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
			w := must(b.RWMutex(name).TryLock(t.Context()))
			_, err = a.RWMutex(name).TryRLock(t.Context())
			is(t, "TryRLock beside a writer", err, redlatch.ErrNotAcquired)
			_, err = a.RWMutex(name).Locker().TryLock(t.Context())
			is(t, "TryLock beside a writer", err, redlatch.ErrNotAcquired)
			status = must(a.RWMutex(name).Status(t.Context()))
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
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{}), redistest.Name(t)
		m := c.RWMutex(name)
		h := must(m.RLock(t.Context()))
		_, err := m.Lock(h.Context())
		is(t, "Lock below a read hold", err, redlatch.ErrUpgrade)
		_, err = m.RLock(h.Context())
		is(t, "RLock below a read hold, by another owner", err, redlatch.ErrReentry)
		_ = h.Unlock(t.Context())

		ctx := c.WithOwner(t.Context())
		h = must(m.RLocker().Lock(ctx))
		_, err = m.Lock(ctx)
		is(t, "Lock by a reading owner", err, redlatch.ErrUpgrade)
		_ = h.Unlock(ctx)
		w := must(m.Lock(ctx))
		r := must(m.RLock(ctx))
		again := must(m.Lock(ctx))
		for _, h := range []*redlatch.Hold{again, w, r} {
			if err := h.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestForceUnlockOfEitherSideLeavesNothing(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		m, ctx := c.RWMutex(name), c.WithOwner(t.Context())
		if must(m.ForceUnlock(ctx)) {
			t.Error("a free lock was forced")
		}
		for _, lock := range []redlatch.Lock{m.Locker(), m.RLocker()} {
			h := must(lock.Lock(ctx))
			must(lock.Lock(ctx)).Detach()
			if !must(m.ForceUnlock(ctx)) {
				t.Error("a held lock was not forced")
			}
			for n := 1; n <= 2; n++ {
				if do(t, d, "EXISTS", fmt.Sprintf("{%s}:%s:rwlock_timeout:%d", name, h.Owner(), n)).Int != 0 {
					t.Error("a timeout key is left")
				}
			}
			is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		}
	})
}

func TestKeysThatAreNoRWLock(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		m := c.RWMutex(name)
		for _, make := range [][]string{{"SET", name, "x"}, {"HSET", name, "name", "Ada"}, {"HSET", name, c.ID() + ":9", "1"}} {
			do(t, d, make...)
			before := content(t, d, name)
			_, err := m.Lock(t.Context())
			is(t, "Lock", err, redlatch.ErrWrongType)
			_, err = m.RLock(t.Context())
			is(t, "RLock", err, redlatch.ErrWrongType)
			_, err = m.ForceUnlock(t.Context())
			is(t, "ForceUnlock", err, redlatch.ErrWrongType)
			_, err = m.Status(t.Context())
			is(t, "Status", err, redlatch.ErrWrongType)
			if content(t, d, name) != before {
				t.Error("it was changed")
			}
			do(t, d, "DEL", name)
		}
	})
}

func TestADowngradeIsRenewedForAsLongAsItIsHeldAndLetsReadersIn(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, ctx := s.client.RWMutex("job"), s.client.WithOwner(t.Context())
		w, r := must(m.Lock(ctx)), must(m.RLock(ctx))
		other := s.other(redlatch.Config{PollCap: time.Hour})
		var entered, wrote atomic.Int32
		var waiters sync.WaitGroup
		for range 5 {
			waiters.Go(func() {
				h := must(other.RWMutex("job").RLock(t.Context()))
				entered.Add(1)
				time.Sleep(200 * time.Second)
				if err := h.Unlock(t.Context()); err != nil {
					t.Error("a reader lost its hold:", err)
				}
			})
		}
		synctest.Wait()
		waiters.Go(func() {
			h := must(s.other(redlatch.Config{}).RWMutex("job").Lock(t.Context()))
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
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, ctx := s.client.RWMutex("job"), s.client.WithOwner(t.Context())
		w := must(m.Lock(ctx, redlatch.WithLease(10*time.Minute)))
		r := must(m.RLock(ctx))
		time.Sleep(65 * time.Second) // the reader has been renewed
		within(t, "TTL beside a renewed reader", s.ttl("job"), 530*time.Second, 540*time.Second)
		_ = r.Unlock(ctx)
		within(t, "TTL after the inner release", s.ttl("job"), 530*time.Second, 600*time.Second)
		_ = w.Unlock(ctx)

		w = must(m.Lock(ctx))
		_ = must(m.RLock(ctx)).Unlock(ctx)
		time.Sleep(100 * time.Second)
		if !w.Valid() {
			t.Error("after an inner read, the write hold was not renewed:", w.Err())
		}
		_ = w.Unlock(ctx)
	})
}

func TestWriteReentryNeverOutlivesOneLease(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, ctx := s.client.RWMutex("job"), s.client.WithOwner(t.Context())
		for range 10 {
			must(m.Lock(ctx))
			within(t, "TTL", s.ttl("job"), 29*time.Second, 30*time.Second)
		}
	})
}

// TestADeadReaderHoldsWritersOffForItsOwnLeaseOnly has a live reader that renews the
// lock all the time, and leaves only after the dead one's lease.
func TestADeadReaderHoldsWritersOffForItsOwnLeaseOnly(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		live := must(s.client.RWMutex("job").RLock(t.Context()))
		must(s.other(redlatch.Config{}).RWMutex("job").RLock(t.Context())).Detach() // its process died
		died := time.Now()
		time.Sleep(25 * time.Second)
		if err := live.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := must(s.other(redlatch.Config{PollCap: time.Hour}).RWMutex("job").Lock(t.Context()))
		within(t, "time from the death to the writer", time.Since(died), 30*time.Second, 30*time.Second+20*time.Millisecond)
		_ = w.Unlock(t.Context())

		live = must(s.client.RWMutex("job").RLock(t.Context()))
		must(s.other(redlatch.Config{}).RWMutex("job").RLock(t.Context())).Detach()
		time.AfterFunc(40*time.Second, func() { _ = live.Unlock(t.Context()) })
		began := time.Now()
		w = must(s.client.RWMutex("job").Lock(t.Context()))
		within(t, "wait behind a reader that outlived the dead one", time.Since(began), 40*time.Second, 40*time.Second+20*time.Millisecond)
		_ = w.Unlock(t.Context())
	})
}

// TestAReaderNeverShortensTheLifeOfTheLock has a writer besides, which goes by the readers that
// live and not by how long the lock could.
func TestAReaderNeverShortensTheLifeOfTheLock(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.RWMutex("job")
		long := must(m.RLock(t.Context(), redlatch.WithLease(5*time.Minute)))
		short := must(m.RLock(t.Context(), redlatch.WithLease(10*time.Second)))
		within(t, "TTL with both", s.ttl("job"), 299*time.Second, 300*time.Second)
		_ = short.Unlock(t.Context())
		within(t, "TTL after the short one left", s.ttl("job"), 299*time.Second, 300*time.Second)
		must(m.RLock(t.Context(), redlatch.WithLease(10*time.Second)))
		_ = long.Unlock(t.Context())
		within(t, "TTL after the long one left", s.ttl("job"), 299*time.Second, 300*time.Second)
		began := time.Now()
		_ = must(s.other(redlatch.Config{}).RWMutex("job").Lock(t.Context())).Unlock(t.Context())
		within(t, "wait for the short one", time.Since(began), 10*time.Second, 10*time.Second+20*time.Millisecond)
	})
}

func TestAWriteReleaseLetsTheReadersOfEachProcessInTogether(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage) {
		w := must(s.client.RWMutex("job").Lock(t.Context()))
		clients := []*redlatch.Client{s.client, s.other(redlatch.Config{PollCap: time.Hour})}
		var inside atomic.Int32
		var readers sync.WaitGroup
		leave := make(chan struct{})
		for i := range 100 {
			readers.Go(func() {
				h := must(clients[i%2].RWMutex("job").RLock(t.Context()))
				inside.Add(1)
				<-leave
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		before := s.driver.trips.Load()
		if err := w.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := inside.Load(); n != 100 {
			t.Errorf("%d of 100 readers are inside", n)
		}
		within(t, "requests to let 100 readers in", s.driver.trips.Load()-before, 2, 6)
		close(leave)
		readers.Wait()
	})
}

func TestAStreamOfReadersDoesNotStarveAWriterOfTheirProcess(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.RWMutex("job")
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
					h := must(m.RLock(t.Context()))
					time.Sleep(80 * time.Millisecond)
					_ = h.Unlock(t.Context())
				}
			})
		}
		time.Sleep(time.Second)
		for range 20 {
			began := time.Now()
			w := must(m.Lock(t.Context()))
			within(t, "wait of the writer", time.Since(began), 0, 100*time.Millisecond)
			_ = w.Unlock(t.Context())
			time.Sleep(50 * time.Millisecond)
		}
		close(stop)
		readers.Wait()
	})
}

func TestAThousandReadersAreRenewedInBatches(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server.URL(), redlatch.Config{LeaseTime: 3 * time.Second})
	m := c.RWMutex("job")
	var holds []*redlatch.Hold
	for range 1000 {
		holds = append(holds, must(m.RLock(t.Context())))
	}
	server.CLI(t, "CONFIG", "RESETSTAT")
	redistest.Eventually(t, 10*time.Second, func() bool { return c.Stats().Renewals >= 3000 }, "each is renewed three times")
	stats := server.CLI(t, "INFO", "commandstats").(string)
	var scripts int
	for _, line := range strings.Split(stats, "\r\n") {
		_, _ = fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &scripts)
	}
	within(t, "scripts for three renewals of 1,000 readers", scripts, 30, 60)
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

func TestLostRepliesOnEitherSide(t *testing.T) {
	for name, what := range map[string]fate{"not sent": isNotSent, "lost": isLost, "reply lost": losesAnswer} {
		t.Run(name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				m, ctx := s.client.RWMutex("job"), s.client.WithOwner(t.Context())
				count := func(when string, writes, reads int) {
					t.Helper()
					got := map[bool]int{}
					for _, h := range must(m.Status(t.Context())).Holders {
						got[h.Write] += h.Count
					}
					if got[true] != writes || got[false] != reads {
						t.Errorf("%s: %d write and %d read holds, want %d and %d", when, got[true], got[false], writes, reads)
					}
				}
				take := func(l redlatch.Lock) *redlatch.Hold {
					s.driver.spoil(once(what))
					return must(l.Lock(ctx))
				}
				give := func(h *redlatch.Hold) {
					t.Helper()
					s.driver.spoil(once(what))
					if err := h.Unlock(ctx); err != nil {
						t.Error(err)
					}
				}
				w, r1 := take(m.Locker()), take(m.RLocker())
				r2, w2 := take(m.RLocker()), take(m.Locker())
				count("all", 2, 2)
				give(w2)
				give(r2)
				count("half", 1, 1)
				give(w)
				count("downgraded", 0, 1)
				s.driver.spoil(once(what))
				time.Sleep(65 * time.Second)
				count("renewed", 0, 1)
				give(r1)
				count("none", 0, 0)
				if keys := s.memory.Miniredis().Keys(); len(keys) != 0 {
					t.Errorf("left over: %v", keys)
				}
			})
		})
	}
}

// TestReadersAndWritersNeverMix is the random run of both sides, with downgrades.
func TestReadersAndWritersNeverMix(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) { mixBadly(t, s, seed) })
		})
	}
}

func mixBadly(t *testing.T, s *stage, seed uint64) {
	roll := dice(seed)
	s.driver.spoil(func([]string) fate {
		if roll(4) == 0 {
			return []fate{isNotSent, isLost, losesAnswer}[roll(3)]
		}
		return arrives
	})
	clients := []*redlatch.Client{s.client, s.other(redlatch.Config{}), s.other(redlatch.Config{})}
	var mu sync.Mutex
	readers, writers, entered := 0, 0, 0
	move := func(r, w int) {
		mu.Lock()
		defer mu.Unlock()
		readers, writers = readers+r, writers+w
		entered += max(r, 0) + max(w, 0)
		if writers > 1 || writers == 1 && readers > 0 {
			t.Errorf("%d writers and %d readers are inside", writers, readers)
		}
	}
	give := func(h *redlatch.Hold) {
		if err := h.Unlock(t.Context()); err != nil && !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Error("Unlock:", err)
		}
	}
	pause := func() { time.Sleep(time.Duration(roll(40)) * time.Millisecond) }
	var workers sync.WaitGroup
	for i := range 15 {
		workers.Go(func() {
			c := clients[i%3]
			m := c.RWMutex("job")
			for range 30 {
				ctx, wait := c.WithOwner(t.Context()), redlatch.WithWait(time.Duration(1+roll(2000))*time.Millisecond)
				if roll(3) > 0 {
					if h, err := m.RLock(ctx, wait); err == nil {
						move(1, 0)
						pause()
						move(-1, 0)
						give(h)
					}
					continue
				}
				w, err := m.Lock(ctx, wait)
				if err != nil {
					continue
				}
				move(0, 1)
				pause()
				if roll(2) == 0 {
					if r, err := m.RLock(ctx); err == nil {
						move(1, -1) // a downgrade
						give(w)
						pause()
						move(-1, 0)
						give(r)
						continue
					}
				}
				move(0, -1)
				give(w)
			}
		})
	}
	workers.Wait()
	s.driver.spoil(nil)
	time.Sleep(31 * time.Second)
	if keys := s.memory.Miniredis().Keys(); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
	for _, c := range clients {
		if st := c.Stats(); st.Holds != 0 || st.Waiters != 0 || st.Losses != 0 {
			t.Errorf("left over: %+v", st)
		}
	}
	if entered < 100 {
		t.Errorf("only %d entered: the test tests too little", entered)
	}
}

// TestAReaderWithoutItsTimeoutKeyIsDead has what a crash and a downgrade by an older
// peer leave behind: a lock that lives on, with readers that do not.
func TestAReaderWithoutItsTimeoutKeyIsDead(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		const dead = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1"
		m := c.RWMutex(name)
		do(t, d, "HSET", name, "mode", "read", dead, "2")
		do(t, d, "PEXPIRE", name, "600000")
		live := must(m.TryRLock(t.Context()))
		_, err := m.TryLock(t.Context())
		is(t, "TryLock beside a live reader", err, redlatch.ErrNotAcquired)
		_ = live.Unlock(t.Context())
		if got := fields(t, d, name); got != "" {
			t.Errorf("after the last live reader left the hash is %q, want none", got)
		}

		do(t, d, "HSET", name, "mode", "read", dead, "2")
		do(t, d, "PEXPIRE", name, "600000")
		w, err := m.TryLock(t.Context())
		if err != nil {
			t.Fatal("beside a dead reader:", err)
		}
		within(t, "TTL", pttl(t, d, name), 29*time.Second, 30*time.Second)
		_ = w.Unlock(t.Context())
	})
}

// TestAReadInsideAWriteHoldDoesNotQueueBehindThoseThatWaitForIt would wait for itself.
func TestAReadInsideAWriteHoldDoesNotQueueBehindThoseThatWaitForIt(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, ctx := s.client.RWMutex("job"), s.client.WithOwner(t.Context())
		w := must(m.Lock(ctx))
		var others sync.WaitGroup
		for _, lock := range []redlatch.Lock{m.Locker(), m.RLocker()} {
			others.Go(func() { _ = must(lock.Lock(t.Context())).Unlock(t.Context()) })
		}
		synctest.Wait()
		r, err := m.RLock(ctx, redlatch.WithWait(time.Second))
		if err != nil {
			t.Fatal("inside a write hold:", err)
		}
		_ = w.Unlock(ctx)
		_ = r.Unlock(ctx)
		others.Wait()
	})
}
