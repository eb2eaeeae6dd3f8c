package fair_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

func TestAFairQueueHealsItself(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		name, d := redistest.Name(t), fixture.Raw(t, url)
		list, deadlines, _ := fairKeys(name)
		c := fixture.Open(t, url, redlatch.Config{})
		h := check.Must(c.FairMutex(name).Lock(t.Context()))
		q := &queue{t: t}
		q.join(1, c.FairMutex(name), d, 1)
		q.join(2, c.FairMutex(name), d, 2)
		first, second := fixture.Do(t, d, "LINDEX", list, "0").Str, fixture.Do(t, d, "LINDEX", list, "1").Str
		fixture.Do(t, d, "ZREM", deadlines, first)                   // an entry without a deadline
		fixture.Do(t, d, "RPUSH", list, second)                      // a duplicate
		fixture.Do(t, d, "ZADD", deadlines, "99999999999999", "x:1") // a deadline without an entry, which goes with the queue
		fixture.Do(t, d, "RPUSH", list, "y:1")                       // an entry that nobody knows
		redistest.Eventually(t, 5*time.Second, func() bool {
			return fixture.Do(t, d, "ZSCORE", deadlines, first).Str != "" && fixture.Do(t, d, "LLEN", list).Int == 2
		}, "whoever waits is in the queue once, with a deadline")
		fixture.Do(t, d, "LREM", list, "0", second) // a deadline without a place
		redistest.Eventually(t, 5*time.Second, func() bool { return fixture.Do(t, d, "LLEN", list).Int == 2 }, "it queues again")
		_ = h.Unlock(t.Context())
		q.want(1, 2)
		wantNothingOf(t, d, name)
	})
}

func TestLongALongHoldDoesNotAgeFairWaitersOut(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		name, other := "job", s.Other(redlatch.Config{})
		h := check.Must(s.Client.FairMutex(name).Lock(t.Context()))
		list, deadlines, _ := fairKeys(name)
		var mu sync.Mutex
		var served []int
		var all sync.WaitGroup
		for i := range 6 {
			c := []*redlatch.Client{s.Client, other}[i%2]
			all.Go(func() {
				h := check.Must(c.FairMutex(name).Lock(t.Context()))
				mu.Lock()
				served = append(served, i)
				mu.Unlock()
				time.Sleep(time.Second)
				_ = h.Unlock(t.Context())
			})
			synctest.Wait()
		}
		m := s.Memory.Miniredis()
		for range 8 { // longer than the slot, and a Java peer's acquisition now and then
			time.Sleep(time.Minute)
			for _, owner := range check.Must(m.List(list)) {
				was := check.Must(m.ZScore(deadlines, owner))
				check.Must(m.ZAdd(deadlines, was-300_000, owner))
			}
		}
		time.Sleep(2 * time.Second)
		now := time.Now().UnixMilli()
		for i, owner := range check.Must(m.List(list)) {
			left := time.Duration(int64(check.Must(m.ZScore(deadlines, owner)))-now) * time.Millisecond
			check.Within(t, fmt.Sprint("time that waiter ", i, " has left"), left, 2*time.Minute, 30*time.Second+5*time.Minute)
		}
		_ = h.Unlock(t.Context())
		all.Wait()
		if !slices.IsSorted(served) || len(served) != 6 {
			t.Errorf("served %v", served)
		}
	})
}

func TestFairDeadlinesDoNotDriftInTwoHundredFailedAttempts(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.FairMutex("job")
		h := check.Must(m.Lock(t.Context()))
		_, deadlines, _ := fairKeys("job")
		go func() { _, _ = m.Lock(t.Context(), redlatch.WithWait(10*time.Minute)) }()
		synctest.Wait()
		for range 200 {
			_, err := m.Lock(t.Context(), redlatch.WithWait(300*time.Millisecond))
			check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
			scores := check.Must(s.Memory.Miniredis().SortedSet(deadlines))
			for owner, at := range scores {
				left := time.Duration(int64(at)-time.Now().UnixMilli()) * time.Millisecond
				check.Within(t, "time left to "+owner, left, time.Minute, 30*time.Second+2*5*time.Minute)
			}
		}
		_ = h.Unlock(t.Context())
	})
}

// TestNobodySpinsBehindADeadHead counts what waiters send while a foreign head blocks the
// free lock, which it does for ten seconds whatever its deadline.
func TestNobodySpinsBehindADeadHead(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		list, deadlines, _ := fairKeys("job")
		m := s.Memory.Miniredis()
		const dead = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1"
		_, _ = m.RPush(list, dead)
		_, _ = m.ZAdd(deadlines, float64(time.Now().Add(time.Minute).UnixMilli()), dead)
		var all sync.WaitGroup
		began := time.Now()
		for range 10 {
			all.Go(func() { _ = check.Must(s.Client.FairMutex("job").Lock(t.Context())).Unlock(t.Context()) })
		}
		synctest.Wait()
		before := s.Driver.Scripts.Load()
		time.Sleep(9 * time.Second)
		check.Within(t, "commands of 10 waiters in 9 s", s.Driver.Scripts.Load()-before, 9, 30)
		all.Wait()
		check.Within(t, "time until all were served", time.Since(began), 10*time.Second, 13*time.Second)
	})
}

// TestAClientWhoseClockIsOffCannotEvictUs plays a peer that goes by its own clock, ten
// seconds ahead: it prunes and subtracts as Redisson does.
func TestAClientWhoseClockIsOffCannotEvictUs(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.FairMutex("job")
		h := check.Must(m.Lock(t.Context()))
		var all sync.WaitGroup
		all.Go(func() { _ = check.Must(m.Lock(t.Context())).Unlock(t.Context()) })
		synctest.Wait()
		list, deadlines, _ := fairKeys("job")
		for range 100 {
			time.Sleep(time.Second)
			fast := float64(time.Now().Add(10 * time.Second).UnixMilli())
			head := check.Must(s.Memory.Miniredis().List(list))[0]
			if check.Must(s.Memory.Miniredis().ZScore(deadlines, head)) <= fast {
				t.Fatal("a peer with a fast clock would evict the head")
			}
		}
		_ = h.Unlock(t.Context())
		all.Wait()
	})
}

// TestAFlushedFairQueueHeals takes everything from everybody.
func TestAFlushedFairQueueHeals(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.FairMutex("job").Lock(t.Context()))
		clients := []*redlatch.Client{s.Other(redlatch.Config{}), s.Other(redlatch.Config{}), s.Other(redlatch.Config{})}
		var q turns
		const waiters = 400 // most of one client, whose keep-alive names 100
		for i := range waiters {
			q.wait(s, i, clients[i%10/9+i%20/19].FairMutex("job"))
		}
		time.Sleep(1500 * time.Millisecond)
		s.Memory.Miniredis().FlushAll()
		began := time.Now()
		q.all.Wait()
		check.Within(t, "time until all were served", time.Since(began), 0, 3*time.Second)
		check.Is(t, "the holder's Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
		if keys := s.Memory.Miniredis().Keys(); len(keys) != 0 {
			t.Errorf("left over: %v", keys)
		}
	})
}

// TestAWaiterWhoseLeaveWasLostDoesNotBlockTheQueue has a process that lives on, and so
// would keep the entry alive.
func TestAWaiterWhoseLeaveWasLostDoesNotBlockTheQueue(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.FairMutex("job").Lock(t.Context()))
		d := &stage.Tap{Driver: s.Memory}
		c := s.On(d, redlatch.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 3)
		for range cap(left) {
			go func() { _, err := c.FairMutex("job").Lock(ctx); left <- err }()
		}
		synctest.Wait()
		var q turns
		q.wait(s, 1, c.FairMutex("job"))
		synctest.Wait()
		d.Spoil(func([]string) stage.Fate { return stage.Lost })
		cancel()
		for range cap(left) {
			<-left
		}
		time.Sleep(3200 * time.Millisecond) // longer than a release is repeated
		d.Spoil(nil)
		list, _, _ := fairKeys("job")
		if n := len(check.Must(s.Memory.Miniredis().List(list))); n != 4 {
			t.Fatalf("%d are in the queue: no request to leave was lost", n)
		}
		began := time.Now()
		_ = h.Unlock(t.Context())
		q.inOrder(t, 1)
		check.Within(t, "time until the living was served", time.Since(began), 0, 6*time.Second)
	})
}

// Redis loses the place of a waiter while the lock is held. The waiter queues again by its next
// keep-alive, long before it would look by itself.
func TestAWaiterWhosePlaceIsLostQueuesAgainSoon(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
		list, deadlines, _ := fairKeys("job")
		h := check.Must(s.Client.FairMutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
		ctx, cancel := context.WithCancel(s.Limited())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _, _ = s.Client.FairMutex("job").Lock(ctx) })
			synctest.Wait()
		}
		m := s.Memory.Miniredis()
		time.Sleep(10 * time.Second)
		lost := check.Must(m.List(list))[2]
		m.Del(list)
		m.Del(deadlines)
		time.Sleep(1500 * time.Millisecond)
		if waiting, err := m.List(list); err != nil || len(waiting) != 3 || !slices.Contains(waiting, lost) {
			t.Errorf("waiting are %q, %v", waiting, err)
		}
		cancel()
		all.Wait()
		_ = h.Unlock(context.WithoutCancel(ctx))
	})
}
