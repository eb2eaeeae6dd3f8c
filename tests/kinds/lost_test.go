package kinds_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Requests and replies that are lost, and outages.

var fates = map[string]stage.Fate{"not sent": stage.NotSent, "lost": stage.Lost, "reply lost": stage.AnswerLost}

// The first release is that of the outer hold, where the owner has an inner one: a writer becomes a reader.
func TestOneLostRequestOrReplyChangesNothing(t *testing.T) {
	for name, what := range fates {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				p, ctx := s.Home, s.Home.Owner()
				take := func(l redlatch.Lock, w scene.Way) scene.Taken {
					s.SpoilOnce(what)
					return scene.Taken{Hold: check.Must(l.Lock(ctx)), Way: w}
				}
				free := func(h scene.Taken) {
					s.SpoilOnce(what)
					p.Free(h.Hold)
				}
				outer := take(p.Lock, s.Lock)
				s.Holds("after Lock", outer)
				last := outer
				if s.CanReenter() {
					again := take(p.Lock, s.Lock)
					s.Holds("after a re-entry", outer, again)
					last = take(p.Inside, s.Inside)
					s.Holds("after another one", outer, again, last)
					free(again)
					s.Holds("after an inner Unlock", outer, last)
					free(outer)
					s.Holds("after the outer Unlock", last)
				}
				time.Sleep(time.Until(last.Deadline()) - 19*time.Second)
				s.SpoilOnce(what)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				check.Within(s.T, "what is left after a renewal", s.Left(), 27*time.Second, 30*time.Second)
				s.Holds("after a renewal", last)
				free(last)
				s.Holds("after the last Unlock")
			})
		})
	}
}

func TestAHandOverWhoseReplyIsLostReachesTheNextWaiterOnce(t *testing.T) {
	for name, what := range fates {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				p := s.Home
				h := p.Block()
				next := make(chan *redlatch.Hold)
				go func() { next <- check.Must(p.Lock.Lock(s.Context())) }()
				time.Sleep(time.Second)
				s.SpoilOnce(what)
				p.Free(h.Hold)
				second := <-next
				s.Holds("after the hand-over", scene.Taken{Hold: second, Way: s.Lock})
				p.Free(second)
			})
		})
	}
}

// All requests fail for most of a lease, again and again, and a stranger asks all the time.
func TestRenewalSurvivesEveryOutageShorterThanItsLease(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		h, rival := check.Must(s.Home.Lock.Lock(s.Context())), s.Stranger().Rival
		for i := range 100 {
			switch i % 28 {
			case 0:
				s.Cut()
			case 19:
				s.Net(nil)
			}
			_, err := rival.TryLock(s.Context())
			check.Is(s.T, "TryLock of a stranger", err, redlatch.ErrNotAcquired)
			if time.Sleep(time.Second); !h.Valid() {
				s.Fatalf("the hold was lost after %d s: %v", i, h.Err())
			}
		}
		s.Net(nil)
		s.Home.Free(h)
		if s.Home.Clients[0].Stats().FailedRenewals == 0 {
			s.Error("no renewal failed: the test tests nothing")
		}
	})
}

// A stranger that waits gets the lock after the holder has been told, and soon. What was sent before arrives late.
func TestAnOutageLongerThanTheLeaseEndsTheHoldBeforeItsKey(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		p, other := s.Home, s.Stranger()
		h, began := check.Must(p.Lock.Lock(s.Context())), time.Now()
		inside := h.Context()
		var late mail
		s.All(late.lose)
		next := make(chan *redlatch.Hold)
		go func() { next <- check.Must(other.Rival.Lock(s.Context())) }()
		<-h.Done()
		select {
		case <-next:
			s.Error("the key expired before the hold ended")
		default:
		}
		check.Is(s.T, "Err", h.Err(), redlatch.ErrLost)
		check.Is(s.T, "the context's cause", context.Cause(inside), redlatch.ErrLost)
		second := <-next
		check.Within(s.T, "the wait of a stranger", time.Since(began), 29*time.Second, 36*time.Second)
		late.arrive(s)
		s.Net(nil)
		check.Is(s.T, "Unlock", h.Unlock(s.Context()), redlatch.ErrLost)
		check.Is(s.T, "the second Unlock", h.Unlock(s.Context()), nil)
		s.Holds("after the loss", scene.Taken{Hold: second, Way: s.Rival})
		other.Free(second)
	})
}

// Redis forgets as much as costs the holder its lock. The rest of several locks is not renewed any more, and
// Unlock releases it at once.
func TestALossEndsTheHold(t *testing.T) {
	for name, rest := range map[string]bool{"and it is unlocked": false, "and it runs out": true} {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				h := check.Must(s.Home.Lock.Lock(s.Context()))
				inside := h.Context()
				time.Sleep(40 * time.Second)
				s.Lose()
				lost := time.Now()
				<-h.Done()
				check.Within(s.T, "until the hold ended", time.Since(lost), 0, 10*time.Second+10*time.Millisecond)
				check.Is(s.T, "Err", h.Err(), redlatch.ErrLost)
				check.Is(s.T, "the context's cause", context.Cause(inside), redlatch.ErrLost)
				time.Sleep(time.Until(lost.Add(11 * time.Second)))
				if rest {
					time.Sleep(30 * time.Second)
					s.Holds("after a lease")
				}
				check.Is(s.T, "Unlock", h.Unlock(s.Context()), redlatch.ErrLost)
				check.Is(s.T, "the second Unlock", h.Unlock(s.Context()), nil)
				s.Holds("after Unlock")
				if n := s.Home.Clients[0].Stats().Losses; n == 0 {
					s.Error("no loss is counted")
				}
			})
		})
	}
}

// Nobody has noticed the loss, and another owner has the lock. Unlock of a turn does not ask Redis.
func TestUnlockAfterALossThatNobodyNoticedIsErrLost(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort != scene.Cohort }, redlatch.Config{}, func(s *scene.Scene) {
		h := check.Must(s.Home.Lock.Lock(s.Context()))
		s.Vanish()
		other := s.Stranger()
		next := check.Must(other.Rival.TryLock(s.Context()))
		check.Is(s.T, "Unlock", h.Unlock(s.Context()), redlatch.ErrLost)
		s.Holds("after Unlock", scene.Taken{Hold: next, Way: s.Rival})
		other.Free(next)
	})
}

// Goal: a process never grants to itself what it holds, whatever a server says. Method: the servers forget the
// lock, as in a failover, and nobody notices. Another owner of the process waits for it, and then a third one tries to
// take it. The waiter enters when the hold knows that it is lost, which the attempt has asked.
func TestAProcessDoesNotGrantToItselfWhatItHolds(t *testing.T) {
	owned := func(k scene.Kind) bool { return k.Lock.HasOwner() }
	for _, lease := range []time.Duration{0, time.Hour} { // renewed, and fixed
		var opts []redlatch.LockOption
		if lease > 0 {
			opts = append(opts, redlatch.WithLease(lease))
		}
		t.Run(fmt.Sprint(lease), func(t *testing.T) {
			scene.EachThat(t, owned, redlatch.Config{RestartDelay: -1}, func(s *scene.Scene) {
				if s.Sort == scene.Cohort && lease > 0 {
					return // which is refused
				}
				p := s.Home
				h := check.Must(p.Lock.Lock(s.Context(), opts...))
				time.Sleep(time.Second)
				left := s.Left()
				_, err := p.Rival.TryLock(s.Context())
				check.Is(s.T, "TryLock", err, redlatch.ErrNotAcquired)
				if synctest.Wait(); !h.Valid() {
					s.Fatal("a question cost the hold:", h.Err())
				}
				check.Within(s.T, "what is left", s.Left(), left, left)
				next := make(chan *redlatch.Hold, 1)
				go func() { next <- check.Must(p.Rival.Lock(s.Context())) }()
				time.Sleep(1300 * time.Millisecond)
				s.Vanish()
				_, err = p.Rival.TryLock(s.Context())
				check.Is(s.T, "TryLock", err, redlatch.ErrNotAcquired)
				if s.Sort == scene.Majority { // which takes its lock again
					time.Sleep(5 * time.Second)
					_ = h.Unlock(s.Context())
				}
				asked := time.Now()
				second := <-next
				check.Within(s.T, "the wait", time.Since(asked), 0, 100*time.Millisecond)
				if h.Valid() {
					s.Error("two owners of a process hold the lock")
				}
				p.Free(second)
				_ = h.Unlock(s.Context())
			})
		})
	}
}

// Goal: who forces a lock of its own process learns at once that it is lost, also if the reply was.
func TestAProcessThatForcesItsOwnLockKnowsThatItIsLost(t *testing.T) {
	for _, what := range []stage.Fate{stage.Arrives, stage.AnswerLost} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			m, opts := s.Client.Mutex("job"), redlatch.WithLease(time.Hour)
			h := check.Must(m.Lock(s.Limited(), opts))
			check.ErrOf(s.Client.Mutex("other").ForceUnlock(s.Limited())) // the server knows the script
			s.Driver.Spoil(stage.Once(what))
			if _, err := m.ForceUnlock(s.Limited()); err != nil {
				check.Is(t, "ForceUnlock", err, redlatch.ErrUnknownOutcome)
			}
			synctest.Wait()
			check.Is(t, "Err", h.Err(), redlatch.ErrLost)
			check.Must(m.TryLock(s.Limited(), opts))
		})
	}
}

// Goal: code of a caller's context runs on no goroutine that serves others.
// Method: a hold is lost whose context cannot be bound to its parent, or not be unbound. Another hold of the same
// clients is renewed nevertheless.
func TestAContextThatHangsStopsNoRenewal(t *testing.T) {
	for _, what := range []string{"binding", "unbinding"} {
		t.Run(what, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				inner, cancel := context.WithCancel(s.Context())
				defer cancel()
				ctx, got := stuck{inner, new(atomic.Bool), make(chan struct{})}, make(chan context.Context, 1)
				h := check.Must(s.Home.Lock.Lock(ctx))
				ctx.from.Store(what == "binding")
				go func() { got <- h.Context() }()
				time.Sleep(time.Second)
				ctx.from.Store(true)
				s.Lose()
				other := check.Must(s.Home.Clients[0].Mutex("other").Lock(s.Context()))
				time.Sleep(time.Minute)
				check.Is(s.T, "Err of the other hold", other.Err(), nil)
				check.Is(s.T, "Unlock of the other hold", other.Unlock(s.Context()), nil)
				check.Is(s.T, "Err", h.Err(), redlatch.ErrLost)
				close(ctx.let)
				check.Is(s.T, "the cause", context.Cause(<-got), redlatch.ErrLost)
				check.Is(s.T, "Unlock", h.Unlock(s.Context()), redlatch.ErrLost)
			})
		})
	}
}
