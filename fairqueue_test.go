package redlatch_test

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
)

func TestAFairQueueHealsItself(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		name, d := redistest.Name(t), raw(t, url)
		list, deadlines, _ := fairKeys(name)
		c := open(t, url, redlatch.Config{})
		h := must(c.FairMutex(name).Lock(t.Context()))
		q := &queue{t: t}
		q.join(1, c.FairMutex(name), d, 1)
		q.join(2, c.FairMutex(name), d, 2)
		first, second := do(t, d, "LINDEX", list, "0").Str, do(t, d, "LINDEX", list, "1").Str
		do(t, d, "ZREM", deadlines, first)                   // an entry without a deadline
		do(t, d, "RPUSH", list, second)                      // a duplicate
		do(t, d, "ZADD", deadlines, "99999999999999", "x:1") // a deadline without an entry, which goes with the queue
		do(t, d, "RPUSH", list, "y:1")                       // an entry that nobody knows
		redistest.Eventually(t, 5*time.Second, func() bool {
			return do(t, d, "ZSCORE", deadlines, first).Str != "" && do(t, d, "LLEN", list).Int == 2
		}, "whoever waits is in the queue once, with a deadline")
		do(t, d, "LREM", list, "0", second) // a deadline without a place
		redistest.Eventually(t, 5*time.Second, func() bool { return do(t, d, "LLEN", list).Int == 2 }, "it queues again")
		_ = h.Unlock(t.Context())
		q.want(1, 2)
		wantNothingOf(t, d, name)
	})
}

func TestALongHoldDoesNotAgeFairWaitersOut(t *testing.T) {
	t.Parallel()
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		name, other := "job", s.other(redlatch.Config{})
		h := must(s.client.FairMutex(name).Lock(t.Context()))
		list, deadlines, _ := fairKeys(name)
		var mu sync.Mutex
		var served []int
		var all sync.WaitGroup
		for i := range 6 {
			c := []*redlatch.Client{s.client, other}[i%2]
			all.Go(func() {
				h := must(c.FairMutex(name).Lock(t.Context()))
				mu.Lock()
				served = append(served, i)
				mu.Unlock()
				time.Sleep(time.Second)
				_ = h.Unlock(t.Context())
			})
			synctest.Wait()
		}
		m := s.memory.Miniredis()
		for range 8 { // longer than the slot, and a Java peer's acquisition now and then
			time.Sleep(time.Minute)
			for _, owner := range must(m.List(list)) {
				was := must(m.ZScore(deadlines, owner))
				must(m.ZAdd(deadlines, was-300_000, owner))
			}
		}
		time.Sleep(2 * time.Second)
		now := time.Now().UnixMilli()
		for i, owner := range must(m.List(list)) {
			left := time.Duration(int64(must(m.ZScore(deadlines, owner)))-now) * time.Millisecond
			within(t, fmt.Sprint("time that waiter ", i, " has left"), left, 2*time.Minute, 30*time.Second+5*time.Minute)
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
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.FairMutex("job")
		h := must(m.Lock(t.Context()))
		_, deadlines, _ := fairKeys("job")
		go func() { _, _ = m.Lock(t.Context(), redlatch.WithWait(10*time.Minute)) }()
		synctest.Wait()
		for range 200 {
			_, err := m.Lock(t.Context(), redlatch.WithWait(300*time.Millisecond))
			is(t, "Lock", err, redlatch.ErrNotAcquired)
			scores, err := s.memory.Miniredis().SortedSet(deadlines)
			if err != nil {
				t.Fatal(err)
			}
			for owner, at := range scores {
				left := time.Duration(int64(at)-time.Now().UnixMilli()) * time.Millisecond
				within(t, "time left to "+owner, left, time.Minute, 30*time.Second+2*5*time.Minute)
			}
		}
		_ = h.Unlock(t.Context())
	})
}

// TestNobodySpinsBehindADeadHead counts what waiters send while a foreign head blocks the
// free lock, which it does for ten seconds whatever its deadline.
func TestNobodySpinsBehindADeadHead(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		list, deadlines, _ := fairKeys("job")
		m := s.memory.Miniredis()
		const dead = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1"
		_, _ = m.RPush(list, dead)
		_, _ = m.ZAdd(deadlines, float64(time.Now().Add(time.Minute).UnixMilli()), dead)
		var all sync.WaitGroup
		began := time.Now()
		for range 10 {
			all.Go(func() { _ = must(s.client.FairMutex("job").Lock(t.Context())).Unlock(t.Context()) })
		}
		synctest.Wait()
		before := s.driver.scripts.Load()
		time.Sleep(9 * time.Second)
		within(t, "commands of 10 waiters in 9 s", s.driver.scripts.Load()-before, 9, 30)
		all.Wait()
		within(t, "time until all were served", time.Since(began), 10*time.Second, 13*time.Second)
	})
}

// TestAClientWhoseClockIsOffCannotEvictUs plays a peer that goes by its own clock, ten
// seconds ahead: it prunes and subtracts as Redisson does.
func TestAClientWhoseClockIsOffCannotEvictUs(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.FairMutex("job")
		h := must(m.Lock(t.Context()))
		var all sync.WaitGroup
		all.Go(func() { _ = must(m.Lock(t.Context())).Unlock(t.Context()) })
		synctest.Wait()
		list, deadlines, _ := fairKeys("job")
		for range 100 {
			time.Sleep(time.Second)
			fast := float64(time.Now().Add(10 * time.Second).UnixMilli())
			head := must(s.memory.Miniredis().List(list))[0]
			if must(s.memory.Miniredis().ZScore(deadlines, head)) <= fast {
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
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		h := must(s.client.FairMutex("job").Lock(t.Context()))
		clients := []*redlatch.Client{s.other(redlatch.Config{}), s.other(redlatch.Config{}), s.other(redlatch.Config{})}
		var q turns
		const waiters = 400 // most of one client, whose keep-alive names 100
		for i := range waiters {
			q.wait(s, i, clients[i%10/9+i%20/19].FairMutex("job"))
		}
		time.Sleep(1500 * time.Millisecond)
		s.memory.Miniredis().FlushAll()
		began := time.Now()
		q.all.Wait()
		within(t, "time until all were served", time.Since(began), 0, 3*time.Second)
		is(t, "the holder's Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
		if keys := s.memory.Miniredis().Keys(); len(keys) != 0 {
			t.Errorf("left over: %v", keys)
		}
	})
}

// TestAWaiterWhoseLeaveWasLostDoesNotBlockTheQueue has a process that lives on, and so
// would keep the entry alive.
func TestAWaiterWhoseLeaveWasLostDoesNotBlockTheQueue(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		h := must(s.client.FairMutex("job").Lock(t.Context()))
		d := &spoiled{Driver: s.memory}
		c := s.on(d, redlatch.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 3)
		for range cap(left) {
			go func() { _, err := c.FairMutex("job").Lock(ctx); left <- err }()
		}
		synctest.Wait()
		var q turns
		q.wait(s, 1, c.FairMutex("job"))
		synctest.Wait()
		d.spoil(func([]string) fate { return isLost })
		cancel()
		for range cap(left) {
			<-left
		}
		time.Sleep(3200 * time.Millisecond) // longer than a release is repeated
		d.spoil(nil)
		list, _, _ := fairKeys("job")
		if n := len(must(s.memory.Miniredis().List(list))); n != 4 {
			t.Fatalf("%d are in the queue: no request to leave was lost", n)
		}
		began := time.Now()
		_ = h.Unlock(t.Context())
		q.inOrder(t, 1)
		within(t, "time until the living was served", time.Since(began), 0, 6*time.Second)
	})
}

// Redis loses the place of a waiter while the lock is held. The waiter queues again by its next
// keep-alive, long before it would look by itself.
func TestAWaiterWhosePlaceIsLostQueuesAgainSoon(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage) {
		list, deadlines, _ := fairKeys("job")
		h := must(s.client.FairMutex("job").Lock(s.limited(), redlatch.WithLease(time.Hour)))
		ctx, cancel := context.WithCancel(s.limited())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _, _ = s.client.FairMutex("job").Lock(ctx) })
			synctest.Wait()
		}
		m := s.memory.Miniredis()
		time.Sleep(10 * time.Second)
		lost := must(m.List(list))[2]
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
