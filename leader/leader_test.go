package leader_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/redlatchtest"
)

// candidate is one process that stands for election, and what it saw.
type candidate struct {
	client *redlatch.Client
	lock   *redlatch.Mutex
	cb     leader.Callbacks

	stop    context.CancelFunc
	result  chan error           // of Run
	started chan *redlatch.Hold  // one for each call
	work    chan context.Context // likewise
	stopped chan error           // likewise
	resign  chan struct{}        // ends Started
	leading atomic.Int32         // calls of Started under way
}

// newCandidate makes one whose Started works until its context ends or it is told to resign.
func newCandidate(s *redlatchtest.Server, cfg redlatch.Config) *candidate {
	c := &candidate{
		client: s.Client(cfg), result: make(chan error, 1),
		started: make(chan *redlatch.Hold, 100), work: make(chan context.Context, 100),
		stopped: make(chan error, 100), resign: make(chan struct{}),
	}
	c.lock = c.client.Mutex("leader")
	c.cb = leader.Callbacks{
		Started: func(ctx context.Context, h *redlatch.Hold) {
			c.leading.Add(1)
			defer c.leading.Add(-1)
			c.work <- ctx
			c.started <- h
			select {
			case <-ctx.Done():
			case <-c.resign:
			}
		},
		Stopped: func(err error) { c.stopped <- err },
		Failed:  func(error) {},
	}
	return c
}

// stand lets the candidate stand until it is stopped, or the test ends.
func (c *candidate) stand(t *testing.T, opts ...redlatch.LockOption) *candidate {
	ctx, stop := context.WithCancel(t.Context())
	c.stop = stop
	var run sync.WaitGroup
	run.Go(func() { c.result <- leader.Run(ctx, c.lock, c.cb, opts...) })
	t.Cleanup(func() { stop(); run.Wait() })
	return c
}

// next is what comes next on a channel. Within an hour of fake time it must.
func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Hour):
		t.Fatal("nothing within an hour: ", what)
		panic("not reached")
	}
}

// bubble runs a test in fake time, with a server.
func bubble(t *testing.T, test func(t *testing.T, s *redlatchtest.Server)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, redlatchtest.NewServer(t)) })
}

func TestOneLeadsAndTheNextTakesOver(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		first := newCandidate(s, redlatch.Config{}).stand(t)
		term := next(t, "the first leads", first.started).Token()
		second := newCandidate(s, redlatch.Config{}).stand(t)
		time.Sleep(5 * time.Minute)
		if len(second.started) > 0 {
			t.Fatal("two lead")
		}
		began := time.Now()
		first.stop()
		if got := next(t, "the second leads", second.started).Token(); got <= term || term == 0 {
			t.Errorf("term %d came after term %d", got, term)
		}
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("the lock was free after %v", took)
		}
		if err := next(t, "the end of Run", first.result); err != context.Canceled {
			t.Error("Run returned:", err)
		}
		if err := next(t, "Stopped", first.stopped); !errors.Is(err, context.Canceled) || errors.Is(err, redlatch.ErrLost) {
			t.Error("Stopped got:", err)
		}
	})
}

func TestALeaderThatReturnsHasResigned(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{}).stand(t)
		hold := next(t, "it leads", c.started)
		close(c.resign)
		if err := next(t, "Stopped", c.stopped); err != nil {
			t.Error("Stopped got:", err)
		}
		if err := next(t, "the end of Run", c.result); err != nil {
			t.Error("Run returned:", err)
		}
		if !errors.Is(hold.Err(), redlatch.ErrReleased) || s.Miniredis().Exists("leader") {
			t.Error("the lock is not released:", hold.Err())
		}
	})
}

// Kubernetes, client-go #728: with ReleaseOnCancel the lock is released while the work goes on, so
// that two lead. Here the lock stays held, and renewed, until the work has ended.
func TestTheLockIsReleasedOnlyAfterTheWork(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		first, second := newCandidate(s, redlatch.Config{}), newCandidate(s, redlatch.Config{})
		first.cb.StopTimeout = 3 * time.Minute
		working := first.cb.Started
		var ended time.Time
		first.cb.Started = func(ctx context.Context, h *redlatch.Hold) {
			working(ctx, h)
			time.Sleep(2 * time.Minute) // four leases
			if !h.Valid() {
				t.Error("the lock was gone before the work ended:", h.Err())
			}
			ended = time.Now()
		}
		first.stand(t)
		next(t, "the first leads", first.started)
		second.stand(t)
		first.stop()
		next(t, "the second leads", second.started)
		if ended.IsZero() || time.Since(ended) > 10*time.Millisecond {
			t.Error("the second leads, and the work of the first ended at", ended)
		}
	})
}

// Kubernetes #44887, and a network loss of which the leader was not told (docker/leadership #9): a
// leader whose renewals fail must stop. Here its context ends while the lease has time left, and so
// before another one can lead.
func TestALeaderStepsDownBeforeItsLeaseEnds(t *testing.T) {
	for name, cb := range map[string]leader.Callbacks{"default": {}, "asked for": {StepDown: 8 * time.Second}, "too much": {StepDown: time.Hour}} {
		want := map[string]time.Duration{"default": 5 * time.Second, "asked for": 8 * time.Second, "too much": 10 * time.Second}[name]
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				c := newCandidate(s, redlatch.Config{})
				c.cb.StepDown = cb.StepDown
				c.stand(t)
				work := next(t, "it leads", c.work)
				time.Sleep(65 * time.Second) // between two renewals
				if work.Err() != nil {
					t.Fatal("it stepped down while all was well")
				}
				thaw := s.Freeze()
				next(t, "the end of its context", work.Done())
				if left := s.Miniredis().TTL("leader"); left < want || left > want+time.Second {
					t.Errorf("the lease has %v left in Redis, want %v", left, want)
				}
				if cause := context.Cause(work); !errors.Is(cause, redlatch.ErrLost) {
					t.Error("the cause is", cause)
				}
				if err := next(t, "Stopped", c.stopped); !errors.Is(err, redlatch.ErrLost) {
					t.Error("Stopped got:", err)
				}
				thaw()
				next(t, "it leads", c.started)
				next(t, "it leads again", c.started)
			})
		})
	}
}

// Kubernetes, client-go #1155, and river: after a failed request the election stops for ever. Here
// every candidate stands again after an outage, whatever it was.
func TestTheElectionGoesOnAfterAnOutage(t *testing.T) {
	for name, outage := range map[string]func(*redlatchtest.Server) (end func()){
		"no answer": func(s *redlatchtest.Server) func() { return s.Freeze() },
		"refusal":   func(s *redlatchtest.Server) func() { return s.Deny() },
		"no message": func(s *redlatchtest.Server) func() {
			s.Expire("leader")
			return s.Deny("SUBSCRIBE")
		},
		"all forgotten": func(s *redlatchtest.Server) func() { s.Miniredis().FlushAll(); return func() {} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				first := newCandidate(s, redlatch.Config{}).stand(t)
				next(t, "the first leads", first.started)
				second := newCandidate(s, redlatch.Config{}).stand(t)
				time.Sleep(time.Second)
				end := outage(s)
				time.Sleep(5 * time.Minute)
				end()
				time.Sleep(time.Minute)
				if n := first.leading.Load() + second.leading.Load(); n != 1 {
					t.Errorf("after the outage %d lead", n)
				}
				if len(first.stopped) == 0 {
					t.Error("the first was not told that it leads no more")
				}
			})
		})
	}
}

// Kubernetes #112023 and #95939: a release under a context that has ended fails, and the next leader
// waits for a lease. TestOneLeadsAndTheNextTakesOver sees that it does not. etcd #21128: what a
// candidate that gives up had written stays. Here nothing is left.
func TestACandidateThatGivesUpLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		first := newCandidate(s, redlatch.Config{}).stand(t)
		next(t, "the first leads", first.started)
		second := newCandidate(s, redlatch.Config{}).stand(t)
		time.Sleep(time.Second)
		second.stop()
		if err := next(t, "the end of Run", second.result); err != context.Canceled {
			t.Error("Run returned:", err)
		}
		first.stop()
		next(t, "the end of Run", first.result)
		if s.Miniredis().Exists("leader") {
			t.Error("the lock is left")
		}
		if len(second.started)+len(second.stopped) > 0 {
			t.Error("a callback was called for one that never led") // as client-go does
		}
	})
}

// etcd, Campaign: a candidate whose session expired while it waited stays blocked for ever, or is told
// that it leads although it holds nothing. Here the server forgets all while the second one waits.
func TestACandidateWhoseServerForgotLeadsForCertainOrNot(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		first := newCandidate(s, redlatch.Config{}).stand(t)
		next(t, "the first leads", first.started)
		second := newCandidate(s, redlatch.Config{}).stand(t)
		time.Sleep(time.Second)
		s.Miniredis().FlushAll()
		hold := next(t, "the second leads", second.started)
		if got, err := second.lock.Status(t.Context()); err != nil || len(got.Holders) != 1 || got.Holders[0].Owner != hold.Owner() {
			t.Errorf("it leads, and Redis says %+v, %v", got, err)
		}
	})
}
