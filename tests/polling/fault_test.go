package polling_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What disturbs waits that poll.

// Goal: a cohort does not keep another process out that polls. Method: ten goroutines of one cohort, and
// nobody is told of a release.
func TestACohortGivesItsTurnToAProcessThatPolls(t *testing.T) {
	for name, cfg := range map[string]redlatch.Config{"client": spinConfig, "acquisition": {}} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, cfg, func(t *testing.T, s *stage.Stage) {
				takeTurns(s, cfg, 10*128*time.Millisecond+stage.Stay, redlatch.WithCohort(stage.Stay))
			})
		})
	}
}

// The end of the wait cuts the last pause: the lock was free for a while by then.
func TestTheLastPauseOfEveryKindIsCut(t *testing.T) {
	kinds := map[string]func(c *redlatch.Client) redlatch.Lock{
		"mutex":  func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
		"fair":   func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("job") },
		"multi":  func(c *redlatch.Client) redlatch.Lock { return stage.MultiOf(c, "job") },
		"quorum": func(c *redlatch.Client) redlatch.Lock { return redlatch.NewQuorum(c.Mutex("job")) },
	}
	for name, of := range kinds {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
				c := s.On(s.Driver, redlatch.Config{RestartDelay: -1, PollCap: time.Hour})
				var own redlatch.Lock = s.Stranger().Mutex("job")
				if name == "fair" {
					own = s.Stranger().FairMutex("job")
				}
				check.Must(own.Lock(s.Limited(), redlatch.WithLease(time.Hour)))
				const wait = 30 * time.Second
				time.AfterFunc(wait-300*time.Millisecond, func() { s.Memory.Miniredis().Del("job") })
				began := time.Now()
				h, err := of(c).Lock(s.Limited(), redlatch.WithBackoff(500*time.Millisecond, 20*time.Second), redlatch.WithWait(wait))
				if took := time.Since(began); err != nil || took > wait {
					t.Errorf("after %v Lock is %v, and the lock was free for 300ms", took, err)
				}
				if err == nil {
					_ = h.Unlock(s.Limited())
				}
			})
		})
	}
}

// A quorum without messages in front does not slow down who polls behind it.
func TestAQuorumInFrontDoesNotPutOffThoseWhoPoll(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		c := s.On(s.Driver, redlatch.Config{RestartDelay: -1, PollCap: 10 * time.Minute})
		check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
		ctx, cancel := context.WithTimeout(s.Limited(), 30*time.Minute)
		defer cancel()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = redlatch.NewQuorum(c.Mutex("job")).Lock(ctx)
		}()
		time.Sleep(time.Second)
		done := make(chan time.Time, 1)
		go func() {
			h := check.Must(c.Mutex("job").Lock(s.Limited(), spin))
			done <- time.Now()
			_ = h.Unlock(s.Limited())
		}()
		time.Sleep(15 * time.Minute)
		freed := time.Now()
		s.Memory.Miniredis().Del("job")
		check.Within(t, "wait after the release", (<-done).Sub(freed), 0, time.Second)
		cancel()
		<-gone
	})
}

// Goal: pauses grow with the wait of the process, and do not begin anew with each waiter that gives up.
// Method: a thousand waiters, one of which gives up each 10 ms.
func TestWaitersThatGiveUpDoNotMakeOthersAskMoreOften(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
		before := s.Driver.Scripts.Load()
		const waiters = 1000
		var wg sync.WaitGroup
		for i := range waiters {
			wg.Go(func() {
				_, err := s.Client.Mutex("job").Lock(s.Limited(), spin, redlatch.WithWait(time.Duration(1+i)*10*time.Millisecond))
				check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
			})
			synctest.Wait()
		}
		wg.Wait()
		// One when it comes to the front, and one before its wait ends. The first asks as it joins.
		check.Within(t, "requests in 10 s", s.Driver.Scripts.Load()-before, 100, 2*waiters+20)
	})
}

// Whoever closes a client does not wait for the pauses.
func TestCloseEndsWaitsThatPoll(t *testing.T) {
	stage.EachWay(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		c := s.On(s.Driver, redlatch.Config{Backoff: redlatch.Backoff{First: time.Minute, Max: time.Hour}})
		check.Must(k.Rival(s.Stranger(), "job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				_, err := k.Lock(c, "job").Lock(s.Limited())
				check.Is(t, "Lock", err, redlatch.ErrClosed)
			})
		}
		time.Sleep(10 * time.Second)
		began := time.Now()
		if err := c.Close(s.Limited()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		check.Within(t, "Close", time.Since(began), 0, time.Second)
	})
}
