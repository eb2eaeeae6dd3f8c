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

// A quorum without messages in front does not slow down who polls behind it.
func TestAQuorumInFrontDoesNotPutOffThoseWhoPoll(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		c := s.On(s.Driver, redlatch.Config{RestartDelay: -1, PollCap: 10 * time.Minute})
		check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
		ctx, cancel := context.WithTimeout(s.Limited(), 30*time.Minute)
		defer cancel()
		var gone sync.WaitGroup
		gone.Go(func() { _, _ = check.Must(redlatch.NewQuorum(c.Mutex("job"))).Lock(ctx) })
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
		gone.Wait()
	})
}

// Goal: pauses grow with the wait of the process, and do not begin anew with each waiter that gives up.
// Method: a thousand waiters, one of which gives up each 10 ms, and 200 readers.
func TestWaitersThatGiveUpDoNotMakeOthersAskMoreOften(t *testing.T) {
	for name, tt := range map[string]struct {
		waiters int
		of      func(c *redlatch.Client, name string) redlatch.Lock
		most    int64
	}{
		// One when it comes to the front, and one before its wait ends. The first asks as it joins.
		"writers": {1000, stage.WriteOf, 2*1000 + 20},
		// One as it joins, one when it comes to the front, one before its wait ends, and polls.
		"readers": {200, stage.ReadOf, 3*200 + 175},
	} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				check.Must(s.Stranger().RWMutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
				before := s.Driver.Scripts.Load()
				var wg sync.WaitGroup
				for i := range tt.waiters {
					wg.Go(func() {
						wait := redlatch.WithWait(time.Duration(1+i) * 10 * time.Second / time.Duration(tt.waiters))
						_, err := tt.of(s.Client, "job").Lock(s.Limited(), spin, wait)
						check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
					})
					synctest.Wait()
				}
				wg.Wait()
				check.Within(t, "requests in 10 s", s.Driver.Scripts.Load()-before, 100, tt.most)
			})
		})
	}
}
