package kinds_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What those who wait are told, and when.

// Goal: a wait in vain leaves no trace, and its error says why it ended. Method: every way to end it, behind a
// holder of another process and of this one.
func TestAWaitEndsAfterItsTimeAndLeavesNothing(t *testing.T) {
	for where, here := range held {
		t.Run(where, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				holder := s.Stranger()
				if here {
					holder = s.Home
				}
				held := holder.Block()
				synctest.Wait() // for a Quorum's last member, which may refuse the others before it joins
				for what, e := range endings(s) {
					began := time.Now()
					h, err := e.lock(e.ctx(), s.Home.Lock)
					check.Within(s.T, what, time.Since(began), e.after, e.after)
					check.Is(s.T, what, err, append(e.targets, redlatch.ErrNotAcquired)...)
					if h != nil || errors.Is(err, redlatch.ErrUnknownOutcome) || !strings.Contains(err.Error(), "job") {
						s.Errorf("%s: %v, %v", what, h, err)
					}
					if e.targets == nil && (errors.Is(err, context.DeadlineExceeded) || !names(err, held)) {
						s.Errorf("%s: the wait ended, not the context, behind %v, but the error is %v", what, held, err)
					}
					s.Holds("after "+what, held)
				}
				check.NothingIn(s.T, s.Others(holder))
				holder.Free(held.Hold)
			})
		})
	}
}

// names says whether an error names a holder. Nobody knows who has a permit.
func names(err error, h scene.Taken) bool {
	return !h.HasOwner() || slices.ContainsFunc(append(h.Members(), h.Hold), func(one *redlatch.Hold) bool {
		return one.Owner() != "" && strings.Contains(err.Error(), one.Owner())
	})
}

var errPatience = errors.New("no more patience")

// ending is one way in which a wait ends in vain.
type ending struct {
	lock    func(ctx context.Context, l redlatch.Lock) (*redlatch.Hold, error)
	ctx     func() context.Context
	after   time.Duration
	targets []error
}

func endings(s *scene.Scene) map[string]ending {
	within := func(opts ...redlatch.LockOption) func(context.Context, redlatch.Lock) (*redlatch.Hold, error) {
		return func(ctx context.Context, l redlatch.Lock) (*redlatch.Hold, error) { return l.Lock(ctx, opts...) }
	}
	try := func(ctx context.Context, l redlatch.Lock) (*redlatch.Hold, error) { return l.TryLock(ctx) }
	cancelled := func(after time.Duration) func() context.Context {
		return func() context.Context {
			ctx, cancel := context.WithCancelCause(s.Context())
			if after == 0 {
				cancel(errPatience)
			}
			time.AfterFunc(after, func() { cancel(errPatience) })
			return ctx
		}
	}
	limited := func() context.Context {
		ctx, cancel := context.WithTimeout(s.Context(), 7*time.Second)
		s.Cleanup(cancel)
		return ctx
	}
	return map[string]ending{
		"TryLock":                            {try, s.Context, 0, nil},
		"Lock with a wait":                   {within(redlatch.WithWait(12 * time.Second)), s.Context, 12 * time.Second, nil},
		"Lock with a deadline":               {within(), limited, 7 * time.Second, []error{context.DeadlineExceeded}},
		"Lock with a context that ends":      {within(), cancelled(3 * time.Second), 3 * time.Second, []error{context.Canceled, errPatience}},
		"Lock with a context that has ended": {within(), cancelled(0), 0, []error{context.Canceled, errPatience}},
		"TryLock with one":                   {try, cancelled(0), 0, []error{context.Canceled, errPatience}},
	}
}

// A hundred acquisitions of both processes are cancelled at every stage of the way. A request takes a while.
func TestAcquisitionsThatAreCancelledInFlightLeaveNothing(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		roll, processes := stage.Dice(1), []*scene.Process{s.Home, s.Other(redlatch.Config{})}
		s.All(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			time.Sleep(time.Duration(roll(500)) * time.Microsecond)
			defer time.Sleep(time.Duration(roll(500)) * time.Microsecond)
			return send(commands...)
		})
		done := make(chan bool)
		for i := range 100 {
			go func() {
				time.Sleep(time.Duration(roll(20000)) * time.Microsecond)
				ctx, cancel := context.WithTimeout(s.Context(), time.Duration(roll(6000))*time.Microsecond)
				defer cancel()
				l := processes[i%2].Lock
				if i%3 == 0 {
					l = processes[i%2].Rival
				}
				h, err := l.Lock(ctx)
				if err == nil {
					s.Home.Free(h)
				} else {
					check.Is(s.T, "Lock", err, context.DeadlineExceeded)
				}
				done <- err == nil
			}()
		}
		entered := 0
		for range 100 {
			if <-done {
				entered++
			}
		}
		if entered == 0 || entered == 100 {
			s.Errorf("%d of 100 entered: the test tests nothing", entered)
		}
		s.Net(nil)
		s.Holds("a moment later")
	})
}

// Goal: no release of somebody else is overlooked. Method: a hold whose key is gone is released, the first reply
// to that is lost, and the repetition finds nothing. Somebody else holds the lock meanwhile and then releases it.
// Only a message tells of that.
func TestAReleaseThatFindsNothingDoesNotCostTheWaiterTheNextMessage(t *testing.T) {
	// Nobody else gets a fair lock while somebody waits. Whoever waits for several locks holds some of them.
	others := func(k scene.Kind) bool { return k.Name != "fair" && (k.Sort == scene.One || k.Sort == scene.Cohort) }
	scene.EachThat(t, others, redlatch.Config{PollCap: time.Hour}, func(s *scene.Scene) {
		h := check.Must(s.Home.Rival.Lock(s.Context()))
		got := make(chan time.Time, 1)
		go func() {
			next := check.Must(s.Home.Lock.Lock(s.Context()))
			got <- time.Now()
			s.Home.Free(next)
		}()
		time.Sleep(time.Second)
		s.Vanish()
		other := s.Stranger()
		foreign := check.Must(other.Rival.TryLock(s.Context()))
		s.SpoilOnce(stage.AnswerLost)
		_ = h.Unlock(s.Context())
		time.Sleep(time.Second)
		other.Free(foreign)
		freed := time.Now()
		check.Within(s.T, "wait after the release of somebody else", (<-got).Sub(freed), 0, 100*time.Millisecond)
	})
}

func TestUnlockOfALostHoldDoesNotWaitForTheSameOwnersNextRequest(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort != scene.Cohort }, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		h := check.Must(s.Home.Lock.Lock(ctx, redlatch.WithLease(5*time.Second)))
		<-h.Done()
		time.Sleep(time.Second)
		other := s.Stranger()
		foreign := check.Must(other.Rival.Lock(s.Context()))
		got := make(chan *redlatch.Hold)
		go func() { got <- check.Must(s.Home.Lock.Lock(ctx)) }()
		time.Sleep(time.Second)
		began := time.Now()
		check.Is(s.T, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		check.Within(s.T, "Unlock", time.Since(began), 0, 100*time.Millisecond)
		other.Free(foreign)
		s.Home.Free(<-got)
	})
}

// Who comes later stands behind those of its process who wait, and does not ask: the lock may be
// free for a moment that is theirs.
func TestWhoComesLaterDoesNotAskBeforeThoseWhoWait(t *testing.T) {
	// The queue of a fair lock is in Redis. Members that are free are asked for.
	asks := func(k scene.Kind) bool { return k.Name != "fair" && (k.Sort == scene.One || k.Sort == scene.Cohort) }
	scene.EachThat(t, asks, redlatch.Config{PollCap: time.Hour}, func(s *scene.Scene) {
		other, free := s.Stranger(), make(chan struct{})
		held := check.Must(other.Rival.Lock(s.Context()))
		done := make(chan struct{})
		wait := func() {
			h := check.Must(s.Home.Lock.Lock(s.Context()))
			<-free
			s.Home.Free(h)
			done <- struct{}{}
		}
		go wait()
		time.Sleep(time.Second)
		var asked atomic.Int64
		s.All(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			asked.Add(1)
			return send(commands...)
		})
		go wait()
		time.Sleep(time.Second)
		if n := asked.Load(); n != 0 {
			s.Errorf("who came later asked %d times", n)
		}
		other.Free(held)
		close(free)
		<-done
		<-done
	})
}
