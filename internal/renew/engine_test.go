package renew_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

const second = time.Second

func TestAnItemIsRenewedAtEachThirdOfItsLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = 20 * time.Millisecond
		h := newHolder()
		began := time.Now()
		e.Set(&h.Item, term(30*second))
		time.Sleep(55 * second)
		// The next third counts from the moment before the request, not from its answer.
		want := []time.Duration{10 * second, 20 * second, 30 * second, 40 * second, 50 * second}
		if got := s.moments(began, &h.Item); !slices.Equal(got, want) {
			t.Errorf("renewed at %v, want %v", got, want)
		}
		if got := h.Term().Asked.Sub(began); got != 50*second {
			t.Errorf("the term began at %v, want the moment before the last request", got)
		}
		if got := e.Counts(); got != (renew.Counts{Renewals: 5}) {
			t.Errorf("counts are %+v", got)
		}
		wantNoLoss(t, h)
	})
}

func TestAFixedItemIsNeverRenewedAndLostAtItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		fixed, renewed := newHolder(), newHolder()
		e.Set(&renewed.Item, term(30*second))
		e.Set(&fixed.Item, renew.Term{Asked: time.Now(), Lease: 40 * second})
		deadline := fixed.Term().Deadline()
		time.Sleep(90 * second)
		wantLoss(t, fixed, renew.ErrExpired, deadline)
		if n := len(s.moments(time.Time{}, &fixed.Item)); n > 0 {
			t.Errorf("renewed %d times", n)
		}
		wantNoLoss(t, renewed)
		if e.Len() != 1 || len(e.Items()) != 1 || e.Items()[0] != &renewed.Item {
			t.Errorf("%d items are watched: %v", e.Len(), e.Items())
		}
	})
}

func TestAnItemThatIsOverWhenItIsSetIsLostAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := start(t, newServer().renew)
		for _, every := range []time.Duration{0, second} {
			h := newHolder()
			e.Set(&h.Item, renew.Term{Asked: time.Now().Add(-time.Minute), Lease: 30 * second, Every: every})
			synctest.Wait()
			wantLoss(t, h, renew.ErrExpired, time.Now())
		}
	})
}

func TestAnErrorStormThatEndsWithinTheLeaseCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		all := make([]*holder, 250)
		for i := range all {
			all[i] = newHolder()
			e.Set(&all[i].Item, term(30*second))
		}
		time.Sleep(5 * second)
		s.set(func() { s.down = errDown })
		time.Sleep(24600 * time.Millisecond) // 98 ms before the deadline
		s.set(func() { s.down = nil })
		time.Sleep(time.Minute)
		for _, h := range all {
			wantNoLoss(t, h)
		}
		if got := e.Counts(); got.Failures == 0 || got.Late != int64(len(all)) {
			t.Errorf("counts are %+v, want failures and one late renewal for each", got)
		}
	})
}

func TestAnErrorStormThatLastsEndsItemsAtTheirDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.down = errDown
		h := newHolder()
		e.Set(&h.Item, term(30*second))
		deadline := h.Term().Deadline()
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
		if n := len(s.log()); n > 150 {
			t.Errorf("%d requests within one lease", n)
		}
		if e.Len() != 0 {
			t.Errorf("%d items are still watched", e.Len())
		}
	})
}

func TestAServerThatHangsCostsAnItemAtItsDeadlineAndNotLater(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.hanging = true
		h := newHolder()
		began := time.Now()
		e.Set(&h.Item, term(30*second))
		deadline := h.Term().Deadline()
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
		// Each attempt leaves time for others.
		for _, r := range s.log() {
			left, took := deadline.Sub(r.at), r.limit.Sub(r.at)
			if took > max(left/2, 5*time.Millisecond) {
				t.Errorf("with %v left an attempt may take %v", left, took)
			}
		}
		if n := len(s.moments(began, &h.Item)); n < 5 {
			t.Errorf("only %d attempts within the lease", n)
		}
		if s.mostAtATime > 1 {
			t.Errorf("%d attempts at a time for one item", s.mostAtATime)
		}
	})
}

func TestAServerThatHangsAndComesBackWithinTheLeaseCostsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.hanging = true
		h := newHolder()
		e.Set(&h.Item, term(30*second))
		time.Sleep(25 * second)
		s.set(func() { s.hanging = false })
		time.Sleep(time.Minute)
		wantNoLoss(t, h)
	})
}

func TestAnItemWhoseOwnerIsGoneIsLostOnceAndNotRenewedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		gone, kept := newHolder(), newHolder()
		began := time.Now()
		e.Set(&gone.Item, term(30*second))
		e.Set(&kept.Item, term(30*second))
		s.set(func() { s.gone[&gone.Item] = true })
		time.Sleep(time.Minute)
		wantLoss(t, gone, renew.ErrGone, began.Add(10*second))
		wantNoLoss(t, kept)
		if n := len(s.moments(began, &gone.Item)); n != 1 {
			t.Errorf("asked for %d times", n)
		}
		if e.Remove(&gone.Item) {
			t.Error("Remove found it still watched")
		}
	})
}

func TestRemoveEndsTheWatchAndSaysWhetherThereWasOne(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		h, never := newHolder(), newHolder()
		e.Set(&h.Item, term(30*second))
		if !e.Remove(&h.Item) || e.Remove(&h.Item) || e.Remove(&never.Item) {
			t.Error("Remove is to be true for a watched item, once")
		}
		time.Sleep(time.Minute)
		wantNoLoss(t, h)
		if n := len(s.log()); n > 0 {
			t.Errorf("renewed %d times", n)
		}
	})
}

func TestAnEngineWithoutItemsSleeps(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		time.Sleep(240 * time.Hour)
		h := newHolder()
		e.Set(&h.Item, term(30*second))
		time.Sleep(11 * second)
		if n := len(s.log()); n != 1 {
			t.Errorf("renewed %d times, want once", n)
		}
	})
}

// What a suspended machine finds when it wakes up. The loop sees the jump of the
// wall clock; here it is told of one, because a test cannot suspend the machine.
func TestAfterASuspensionEverythingThatIsOverIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	e := start(t, newServer().renew)
	now := time.Now()
	healthy, over, behind := newHolder(), newHolder(), newHolder()
	// By the monotonic clock, which the suspension stopped, the healthy one comes first.
	e.Set(&healthy.Item, renew.Term{Asked: now, Lease: time.Hour, Every: 5 * time.Minute})
	e.Set(&over.Item, renew.Term{Asked: now, Lease: 20 * time.Minute, Every: 6 * time.Minute})
	e.Set(&behind.Item, renew.Term{Asked: now, Lease: 20 * time.Minute})
	lost, _ := e.AfterJump(jumped(now.Add(second), 25*time.Minute))
	if len(lost) != 2 || !slices.Contains(lost, &over.Item) || !slices.Contains(lost, &behind.Item) {
		t.Errorf("%d of 2 items that are over were found", len(lost))
	}
	if e.Remove(&over.Item) || !e.Remove(&healthy.Item) {
		t.Error("those that are over are not watched any more, the others are")
	}
}

// A lease of 20 min that slept through 15 of them has little time left. The interval
// is over by the wall clock; by the monotonic one it would be due after the expiry.
func TestAfterASuspensionEverythingThatIsDueByTheWallClockIsRenewedAtOnce(t *testing.T) {
	t.Parallel()
	e := start(t, newServer().renew)
	now := time.Now()
	h := newHolder()
	e.Set(&h.Item, renew.Term{Asked: now, Lease: 20 * time.Minute, Every: 7 * time.Minute})
	lost, due := e.AfterJump(jumped(now.Add(second), 15*time.Minute))
	if len(lost) != 0 || len(due) != 1 {
		t.Errorf("with 5 of 20 min left after a suspension, %d items are lost and %d renewed; want 0 and 1", len(lost), len(due))
	}
}
