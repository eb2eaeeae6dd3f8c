package polling_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Readers that poll.

// Goal: readers that poll do not each ask at every pause, and all enter together nevertheless. Method: a
// hundred readers of one process behind a writer of another one, which releases without a message.
func TestOneReaderOfAProcessPolls(t *testing.T) {
	for name, cfg := range map[string]redlatch.Config{"client": spinConfig, "acquisition": {}} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, cfg, func(t *testing.T, s *stage.Stage) {
				check.Must(s.Stranger().RWMutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
				var opts []redlatch.LockOption
				if cfg.Backoff.Max == 0 {
					opts = append(opts, spin)
				}
				before := s.Driver.Scripts.Load()
				const readers = 100
				holds := make(chan *redlatch.Hold, readers)
				for range readers {
					go func() { holds <- check.Must(s.Client.RWMutex("job").RLock(s.Limited(), opts...)) }()
					synctest.Wait()
				}
				time.Sleep(10 * time.Second)
				// Each asks as it comes, and one of them as in TestOneWaiterOfAProcessPolls.
				check.Within(t, "requests in 10 s", s.Driver.Scripts.Load()-before, 80, readers+175)
				freed := time.Now()
				s.Memory.Miniredis().Del("job")
				var all []*redlatch.Hold
				for range readers {
					all = append(all, <-holds)
				}
				check.Within(t, "until all readers are in", time.Since(freed), 0, 128*time.Millisecond)
				for _, h := range all {
					_ = h.Unlock(s.Limited())
				}
			})
		})
	}
}

// Goal: readers that poll enter together, also if all of them were refused in one request before. Method: a
// writer of their process stands before them. When it has entered, the first reader asks for all.
func TestReadersThatWereRefusedTogetherEnterTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		lock := s.Client(redlatch.Config{PollCap: time.Second}).RWMutex("job")
		foreign := check.Must(s.Client(redlatch.Config{}).RWMutex("job").Lock(t.Context()))
		written := make(chan *redlatch.Hold)
		go func() { written <- check.Must(lock.Lock(t.Context(), spin)) }()
		synctest.Wait()
		const readers = 100
		holds := make(chan *redlatch.Hold, readers)
		for range readers {
			go func() { holds <- check.Must(lock.RLock(t.Context(), spin)) }()
		}
		synctest.Wait()
		_ = foreign.Unlock(t.Context())
		<-written
		time.Sleep(3 * time.Second)
		s.Delay(20 * time.Millisecond)
		s.Expire("job")
		freed := time.Now()
		var all []*redlatch.Hold
		for range readers {
			all = append(all, <-holds)
		}
		// The longest pause, and five round trips: of a request that just missed the end, of the first reader, of the
		// question whether the writer is gone, of the first reader again, and of the others.
		check.Within(t, "until all readers are in", time.Since(freed), 0, (128+5*20)*time.Millisecond)
		s.Delay(0)
		for _, h := range all {
			_ = h.Unlock(t.Context())
		}
	})
}
