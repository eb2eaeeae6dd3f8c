package renew_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// A pause, as these tests make it: the loop is held up, and what is under way is not
// answered, because nobody reads.

const bound = 3 * second

// stall is a subject that holds up the loop, which is told of its loss.
type stall struct {
	renew.Item
	server *server
	pause  time.Duration
}

func (s *stall) Lost(error) {
	s.server.set(func() { s.server.hanging = true })
	time.Sleep(s.pause)
	s.server.set(func() { s.server.hanging = false })
}

// pauseIn stops the process in a while.
func pauseIn(e *renew.Engine, s *server, in, pause time.Duration) {
	it := &stall{server: s, pause: pause}
	it.Subject = it
	lease := (in + 2*time.Millisecond) * 100 / 99 // trusted for exactly in
	e.Set(&it.Item, renew.Term{Asked: time.Now(), Lease: lease})
}

func startGuarded(t *testing.T, s *server, alive bool) *renew.Engine {
	t.Helper()
	e := renew.Start(s.renew, renew.Guard{
		Alive: func() bool { return alive },
		Gap:   30 * second / 4, Bound: bound,
	})
	t.Cleanup(e.Stop)
	return e
}

func guarded(t *testing.T, alive bool, tell func(t *testing.T, s *server, e *renew.Engine, h *holder)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		e := startGuarded(t, s, alive)
		h := newHolder()
		e.Set(&h.Item, term(30*second))
		tell(t, s, e, h)
	})
}

func TestALeaseThatRanOutInAPauseLivesOnWhenRedisSaysSo(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		s.latency = 200 * time.Millisecond
		began := time.Now()
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(305*second + 100*time.Millisecond)
		if got := h.Term(); !got.Over(time.Now()) {
			t.Errorf("before Redis has answered, the term is %+v", got)
		}
		wantNoLoss(t, h)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if got := h.Term().Asked.Sub(began); got.Truncate(10*time.Millisecond) != 305*second {
			t.Errorf("the new term began at %v", got)
		}
		if n := len(s.moments(began, &h.Item)); n != 1 {
			t.Errorf("asked %d times", n)
		}
		if n := e.Counts().Rescued; n != 1 {
			t.Errorf("%d were rescued", n)
		}
		time.Sleep(time.Hour)
		wantNoLoss(t, h)
	})
}

func TestALeaseThatIsGoneAfterAPauseIsLostAtOnce(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		began := time.Now()
		s.set(func() { s.gone[&h.Item] = true })
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(310 * second)
		wantLossNear(t, h, renew.ErrGone, began.Add(305*second))
		if n := e.Counts().Rescued; n != 0 {
			t.Errorf("%d were rescued", n)
		}
	})
}

func TestAnUnconfirmedLeaseIsLostWhenRedisDoesNotAnswer(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		began := time.Now()
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(304 * second)
		s.set(func() { s.down = errDown })
		time.Sleep(20 * second)
		wantLossNear(t, h, renew.ErrExpired, began.Add(305*second+bound))
		if n := len(s.moments(began, &h.Item)); n < 3 {
			t.Errorf("asked %d times in vain, want several", n)
		}
	})
}

func TestWithoutAGuardAPauseEndsALeaseAtOnce(t *testing.T) {
	guarded(t, false, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		began := time.Now()
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(310 * second)
		wantLossNear(t, h, renew.ErrExpired, began.Add(305*second))
		if n := len(s.moments(began, &h.Item)); n != 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

// Goal: a guard is no excuse. A process that runs and gets no answer is cut off, and loses
// at its deadline like any other.
func TestAPartitionEndsAGuardedLeaseAtItsDeadline(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		s.hanging = true
		deadline := h.Term().Deadline()
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
	})
}

func TestAPartitionAfterAPauseThatIsOverEndsAGuardedLeaseAtItsDeadline(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(305*second + 100*time.Millisecond)
		s.set(func() { s.hanging = true })
		deadline := h.Term().Deadline()
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
	})
}

// A lease may be shorter than the time for which the engine asks after a pause.
func TestWhatWasConfirmedSinceAPauseIsNotUnconfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		e := renew.Start(s.renew, renew.Guard{
			Alive: func() bool { return true }, Gap: second, Bound: time.Hour,
		})
		defer e.Stop()
		h := newHolder()
		e.Set(&h.Item, term(30*second))
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(305*second + 100*time.Millisecond)
		s.set(func() { s.hanging = true })
		deadline := h.Term().Deadline()
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
	})
}

func TestAHiccupIsNoPause(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		s.set(func() { s.down = errDown })
		began := time.Now()
		pauseIn(e, s, 24*second, 5*second+900*time.Millisecond) // beyond the deadline
		time.Sleep(time.Minute)
		wantLossNear(t, h, renew.ErrExpired, began.Add(29*second+900*time.Millisecond))
	})
}

// The deadline passes when the process runs again but the answer is still under way.
func TestAPauseThatEndsJustBeforeTheDeadlineCostsNothing(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		s.latency = 500 * time.Millisecond
		pauseIn(e, s, 9*second, 20*second+600*time.Millisecond) // until 98 ms before it
		time.Sleep(time.Minute)
		wantNoLoss(t, h)
		if n := e.Counts().Rescued; n != 1 {
			t.Errorf("%d were rescued: the test tests nothing", n)
		}
	})
}

func TestAPauseThatComesWhileALeaseIsUnconfirmedGivesItTheWholeTimeAgain(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		s.latency = second
		for range 5 {
			pauseIn(e, s, 5*second, 100*second)
			time.Sleep(105*second + 500*time.Millisecond) // it is asked for, and not yet answered
			pauseIn(e, s, 10*time.Millisecond, 100*second)
			time.Sleep(130 * second)
			wantNoLoss(t, h)
		}
	})
}

func TestAFixedLeaseEndsInAPause(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		fixed := newHolder()
		e.Set(&fixed.Item, renew.Term{Asked: time.Now(), Lease: 30 * second})
		began := time.Now()
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(310 * second)
		wantLossNear(t, fixed, renew.ErrExpired, began.Add(305*second))
		wantNoLoss(t, h)
	})
}

// The process was paused before it could note what it had been granted.
func TestAGuardedLeaseThatIsOverWhenItIsSetIsAskedFor(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		late := newHolder()
		e.Set(&late.Item, renew.Term{Asked: time.Now().Add(-time.Minute), Lease: 30 * second, Every: 10 * second})
		time.Sleep(time.Minute)
		wantNoLoss(t, late)
	})
}

func TestASuspendedMachineIsAPause(t *testing.T) {
	t.Parallel()
	s := newServer()
	e := startGuarded(t, s, true)
	h := newHolder()
	now := time.Now()
	e.Set(&h.Item, renew.Term{Asked: now, Lease: 20 * time.Minute, Every: 7 * time.Minute})
	lost, due := e.AfterJump(jumped(time.Now(), 25*time.Minute))
	if len(lost) != 0 || len(due) != 1 {
		t.Errorf("after a suspension %d are lost and %d asked for, want 0 and 1", len(lost), len(due))
	}
}

// What the loop finds that was stopped while it slept.
func TestALoopThatWakesLateTakesItForAPause(t *testing.T) {
	t.Parallel()
	for late, unconfirmed := range map[time.Duration]bool{time.Hour: true, 30 * second: true, 0: false} {
		synctest.Test(t, func(t *testing.T) {
			e := startGuarded(t, newServer(), true)
			h := newHolder()
			e.Set(&h.Item, renew.Term{Asked: time.Now().Add(-25 * second), Lease: 30 * second, Every: 29 * second})
			synctest.Wait() // until it sleeps
			lost, due := e.AfterPause(h.Term().Deadline().Add(late))
			if unconfirmed != (len(due) == 1) || unconfirmed == (len(lost) == 1) {
				t.Errorf("%v after the deadline: %d lost, %d asked for; unconfirmed is to be %v", late, len(lost), len(due), unconfirmed)
			}
		})
	}
}

// wantLossNear is wantLoss for a moment that comes a little after a pause.
func wantLossNear(t *testing.T, h *holder, why error, at time.Time) {
	t.Helper()
	synctest.Wait()
	lost := h.lost()
	if len(lost) != 1 || lost[0].why != why || lost[0].at.Sub(at).Abs() > 20*time.Millisecond {
		t.Fatalf("losses are %v, want %v", lost, why)
	}
}

// Goal: nobody gets out of a partition by changing the plan of a lease, or by an answer that
// came late for a short span. Neither says anything about a pause.
func TestNeitherAPlanNorALateShortSpanIsAPause(t *testing.T) {
	guarded(t, true, func(t *testing.T, s *server, e *renew.Engine, h *holder) {
		other := newHolder()
		e.Set(&other.Item, term(time.Hour))
		s.set(func() { s.hanging = true })
		deadline := h.Term().Deadline()
		time.Sleep(29 * second)
		plan := renew.Term{Lease: time.Hour, Every: 20 * time.Minute}
		e.Set(&other.Item, plan)
		e.Set(&other.Item, confirmed(plan, time.Now().Add(-second), second))
		time.Sleep(time.Until(deadline))
		e.Set(&h.Item, renew.Term{Lease: 30 * second, Every: 10 * second}) // maybe before the loop wakes
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
	})
}
