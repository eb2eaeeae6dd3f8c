package kinds_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What arrives late: requests that meet another grant, and replies that nobody needs any more.

// mail is what was sent and has not arrived.
type mail struct {
	mu    sync.Mutex
	later []func() []driver.Reply
}

// lose keeps what was sent.
func (m *mail) lose(commands []driver.Command, send stage.Sender) []driver.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.later = append(m.later, func() []driver.Reply { return send(slices.Clone(commands)...) })
	return stage.FailAll(commands, stage.ErrCut)
}

func (m *mail) arrive(s *scene.Scene) {
	s.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.later) == 0 {
		s.Error("nothing was sent: the test tests nothing")
	}
	for _, send := range m.later {
		for _, reply := range send() {
			if _, answered := errors.AsType[*driver.ServerError](reply.Err); reply.Err != nil && !answered {
				s.Error("it has not arrived:", reply.Err)
			}
		}
	}
}

// first has one function decide about the first request to a server, and another one about those that follow.
func first(one, others stage.Around) func() stage.Around {
	return func() stage.Around {
		var spent atomic.Bool
		return func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if spent.Swap(true) {
				return others(commands, send)
			}
			return one(commands, send)
		}
	}
}

func unanswered(commands []driver.Command, send stage.Sender) []driver.Reply {
	send(commands...)
	return stage.FailAll(commands, stage.ErrCut)
}

func arrives(commands []driver.Command, send stage.Sender) []driver.Reply { return send(commands...) }

// Goal: nothing that arrives late touches a later hold of the same owner. Method: the release of the first
// hold is held up on its way, and its repetition succeeds. It arrives when the owner holds the lock again.
func TestALateReleaseLeavesTheSameOwnersNextHoldAlone(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		h := check.Must(s.Home.Lock.Lock(ctx))
		time.Sleep(time.Second)
		var late mail
		s.Net(first(late.lose, arrives))
		s.Home.Free(h)
		time.Sleep(time.Second)
		s.Net(nil)
		wantUntouched(s, ctx, &late)
	})
}

// The same for what cancels an attempt whose outcome nobody knows. The attempt was carried out. Its
// repetitions and its release were held up.
func TestALateGiveBackLeavesTheSameOwnersNextHoldAlone(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		var late mail
		s.Net(first(unanswered, late.lose))
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := s.Home.Lock.Lock(short)
		check.Is(s.T, "Lock", err, redlatch.ErrUnknownOutcome)
		time.Sleep(5 * time.Second) // it has been given up
		s.Net(nil)
		wantUntouched(s, ctx, &late)
	})
}

// wantUntouched takes a lock for an owner, and fails if requests that arrive late change anything about it.
func wantUntouched(s *scene.Scene, ctx context.Context, late *mail) {
	s.Helper()
	h := check.Must(s.Home.Lock.Lock(ctx))
	late.arrive(s)
	_, err := s.Stranger().Rival.TryLock(s.Context())
	check.Is(s.T, "TryLock of a stranger", err, redlatch.ErrNotAcquired)
	s.Home.Free(h)
}

// delays makes the reply to the next script of each server come after a pause.
func delays(s *scene.Scene, pause time.Duration) {
	s.Net(first(func(commands []driver.Command, send stage.Sender) []driver.Reply {
		replies := send(commands...)
		time.Sleep(pause)
		return replies
	}, arrives))
}

// The reply to a re-entry comes when the outer hold has ended. The owner holds nothing then, and
// what the request prolonged does not stay for its lease.
func TestAReentryThatComesTooLateIsReleased(t *testing.T) {
	reenters := func(k scene.Kind) bool { return k.CanReenter() && k.Sort == scene.One }
	scene.EachThat(t, reenters, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		outer := check.Must(s.Home.Lock.Lock(ctx, redlatch.WithLease(time.Second)))
		delays(s, 1500*time.Millisecond)
		_, err := s.Home.Lock.Lock(ctx, redlatch.WithLease(time.Minute))
		check.Is(s.T, "the inner Lock", err, redlatch.ErrLost)
		check.Is(s.T, "the outer hold", outer.Err(), redlatch.ErrLost)
		s.Holds("after the inner Lock")
	})
}

// A grant whose lease has passed when its reply comes is no hold.
func TestAGrantThatComesTooLateIsNoHold(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort == scene.One }, redlatch.Config{}, func(s *scene.Scene) {
		delays(s, 1500*time.Millisecond)
		h, err := s.Home.Lock.TryLock(s.Context(), redlatch.WithLease(time.Second))
		if err == nil {
			s.Fatalf("it is a hold, valid: %v", h.Valid())
		}
		s.Holds("after TryLock")
		check.NothingIn(s.T, s.Home.Clients)
	})
}

// Nobody is told what a request has taken. The caller leaves, and the server can be reached again: what was taken is
// released at once.
func TestWhatWasTakenWithoutAnAnswerIsGivenBack(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		s.All(unanswered)
		ctx, cancel := context.WithTimeout(s.Context(), 100*time.Millisecond)
		defer cancel()
		context.AfterFunc(ctx, func() { s.Net(nil) })
		_, err := s.Home.Lock.TryLock(ctx)
		check.Is(s.T, "TryLock", err, context.DeadlineExceeded)
		if errors.Is(err, redlatch.ErrUnknownOutcome) {
			s.Error("TryLock is", err, "although it was released")
		}
		s.Holds("after TryLock")
	})
}

// Goal: ErrNotAcquired means that nothing is held. Method: a release of the waiter's own process asks for it
// and is carried out. While its reply is on the way, the waiter's context ends. Then the network is there, or gone.
func TestAWaiterThatIsToldThatItHasNothingHasNothing(t *testing.T) {
	for name, then := range map[string]stage.Around{"there": arrives, "gone": stage.Dead} {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				h := check.Must(s.Home.Rival.Lock(s.Context()))
				waiting, leave := context.WithCancel(s.Context())
				got := make(chan error, 1)
				var second *redlatch.Hold
				go func() {
					var err error
					second, err = s.Home.Lock.Lock(waiting)
					got <- err
				}()
				time.Sleep(1100 * time.Millisecond) // not when a keep-alive is sent
				s.Net(first(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					replies := send(commands...)
					leave()
					time.Sleep(time.Millisecond)
					if name == "gone" {
						return stage.FailAll(commands, stage.ErrCut)
					}
					return replies
				}, then))
				_ = h.Unlock(s.Context())
				err := <-got
				if err == nil { // a fair waiter may have heard of the release, and asked, before it left
					check.Is(s.T, "Unlock", second.Unlock(s.Context()), nil)
					s.Net(nil)
					return
				}
				check.Is(s.T, "Lock", err, context.Canceled)
				time.Sleep(time.Second)
				if redis := s.Redis(); !errors.Is(err, redlatch.ErrUnknownOutcome) && redis != s.Expected() {
					s.Errorf("Lock is %v, and Redis has %s", err, redis)
				}
				s.Net(nil)
			})
		})
	}
}
