package redlatch_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// What disturbs waits that poll.

// Goal: a cohort does not keep another process out that polls. Method: ten goroutines of one cohort, and
// nobody is told of a release.
func TestACohortGivesItsTurnToAProcessThatPolls(t *testing.T) {
	for name, cfg := range map[string]redlatch.Config{"client": spinConfig, "acquisition": {}} {
		t.Run(name, func(t *testing.T) {
			story(t, cfg, func(t *testing.T, s *stage) {
				s.takeTurns(cfg, 10*128*time.Millisecond+stay, redlatch.WithCohort(stay))
			})
		})
	}
}

// The end of the wait cuts the last pause: the lock was free for a while by then.
func TestTheLastPauseOfEveryKindIsCut(t *testing.T) {
	kinds := map[string]func(c *redlatch.Client) redlatch.Lock{
		"mutex":  func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
		"fair":   func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("job") },
		"multi":  func(c *redlatch.Client) redlatch.Lock { return multiOf(c, "job") },
		"quorum": func(c *redlatch.Client) redlatch.Lock { return redlatch.NewQuorum(c.Mutex("job")) },
	}
	for name, of := range kinds {
		t.Run(name, func(t *testing.T) {
			story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage) {
				c := s.on(s.driver, redlatch.Config{RestartDelay: -1, PollCap: time.Hour})
				var own redlatch.Lock = s.stranger().Mutex("job")
				if name == "fair" {
					own = s.stranger().FairMutex("job")
				}
				must(own.Lock(s.limited(), redlatch.WithLease(time.Hour)))
				const wait = 30 * time.Second
				time.AfterFunc(wait-300*time.Millisecond, func() { s.memory.Miniredis().Del("job") })
				began := time.Now()
				h, err := of(c).Lock(s.limited(), redlatch.WithBackoff(500*time.Millisecond, 20*time.Second), redlatch.WithWait(wait))
				if took := time.Since(began); err != nil || took > wait {
					t.Errorf("after %v Lock is %v, and the lock was free for 300ms", took, err)
				}
				if err == nil {
					_ = h.Unlock(s.limited())
				}
			})
		})
	}
}

// A quorum without messages in front does not slow down who polls behind it.
func TestAQuorumInFrontDoesNotPutOffThoseWhoPoll(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		c := s.on(s.driver, redlatch.Config{RestartDelay: -1, PollCap: 10 * time.Minute})
		must(s.stranger().Mutex("job").Lock(s.limited(), redlatch.WithLease(time.Hour)))
		ctx, cancel := context.WithTimeout(s.limited(), 30*time.Minute)
		defer cancel()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = redlatch.NewQuorum(c.Mutex("job")).Lock(ctx)
		}()
		time.Sleep(time.Second)
		done := make(chan time.Time, 1)
		go func() {
			h := must(c.Mutex("job").Lock(s.limited(), spin))
			done <- time.Now()
			_ = h.Unlock(s.limited())
		}()
		time.Sleep(15 * time.Minute)
		freed := time.Now()
		s.memory.Miniredis().Del("job")
		within(t, "wait after the release", (<-done).Sub(freed), 0, time.Second)
		cancel()
		<-gone
	})
}

// Goal: pauses grow with the wait of the process, and do not begin anew with each waiter that gives up.
// Method: a thousand waiters, one of which gives up each 10 ms.
func TestWaitersThatGiveUpDoNotMakeOthersAskMoreOften(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		must(s.stranger().Mutex("job").Lock(s.limited(), redlatch.WithLease(time.Hour)))
		before := s.driver.scripts.Load()
		const waiters = 1000
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				_, err := s.client.Mutex("job").Lock(s.limited(), spin, redlatch.WithWait(time.Duration(1+i)*10*time.Millisecond))
				is(t, "Lock", err, redlatch.ErrNotAcquired)
			})
			synctest.Wait()
		}
		wg.Wait()
		// One when it comes to the front, and one before its wait ends. The first asks as it joins.
		within(t, "requests in 10 s", s.driver.scripts.Load()-before, 100, 2*waiters+20)
	})
}

// Whoever closes a client does not wait for the pauses.
func TestCloseEndsWaitsThatPoll(t *testing.T) {
	eachWay(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		c := s.on(s.driver, redlatch.Config{Backoff: redlatch.Backoff{First: time.Minute, Max: time.Hour}})
		must(k.rival(s.stranger(), "job").Lock(s.limited(), redlatch.WithLease(time.Hour)))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				_, err := k.lock(c, "job").Lock(s.limited())
				is(t, "Lock", err, redlatch.ErrClosed)
			})
		}
		time.Sleep(10 * time.Second)
		began := time.Now()
		if err := c.Close(s.limited()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		within(t, "Close", time.Since(began), 0, time.Second)
	})
}
