package renew_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// What is trusted: the latest of what was confirmed. And what is planned: what was said last.

// confirmed is a plan together with a request of that moment that asked for a span.
func confirmed(plan renew.Term, asked time.Time, span time.Duration) renew.Term {
	plan.Asked, plan.Trusted = asked, renew.Trust(asked, span)
	return plan
}

func TestTrustNeverFallsWhateverTheOrderOfTheConfirmations(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	e := start(t, newServer().renew)
	for range 100 {
		h, now := newHolder(), time.Now()
		var most, asked time.Time
		for range 10 {
			plan := renew.Term{Lease: time.Duration(1+random.IntN(60)) * time.Minute, Every: time.Hour}
			at := now.Add(-time.Duration(random.IntN(1000)) * time.Millisecond)
			span := time.Duration(10+random.IntN(3600)) * second
			e.Set(&h.Item, confirmed(plan, at, span))
			if trusted := renew.Trust(at, span); trusted.After(most) {
				most = trusted
			}
			if at.After(asked) {
				asked = at
			}
			got := h.Term()
			if !got.Deadline().Equal(most) || !got.Asked.Equal(asked) {
				t.Fatalf("trusted up to %v, of a request of %v; want %v and %v",
					got.Deadline().Sub(now), got.Asked.Sub(now), most.Sub(now), asked.Sub(now))
			}
			if got.Lease != plan.Lease {
				t.Fatalf("the plan is %v, want what was said last, %v", got.Lease, plan.Lease)
			}
		}
	}
}

func TestAPlanAloneChangesThePlanAndNotTheTrust(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		h := newHolder()
		began := time.Now()
		e.Set(&h.Item, term(30*second))
		time.Sleep(5 * second)
		before := h.Term()
		plan := renew.Term{Lease: time.Minute, Every: 8 * second, Until: began.Add(time.Hour)}
		e.Set(&h.Item, plan)
		got := h.Term()
		if got.Asked != before.Asked || got.Trusted != before.Trusted || got.Deadline() != before.Deadline() {
			t.Errorf("the term is %+v, was %+v", got, before)
		}
		if got.Lease != plan.Lease || got.Every != plan.Every || got.Until != plan.Until {
			t.Errorf("the plan is %+v, want %+v", got, plan)
		}
		time.Sleep(15 * second)
		// The trust is that of half a minute, so a minute is asked for at once.
		if got := s.moments(began, &h.Item); !slices.Equal(got, []time.Duration{5 * second, 13 * second}) {
			t.Errorf("renewed at %v", got)
		}
		fixed := renew.Term{Lease: time.Minute}
		deadline := h.Term().Deadline()
		e.Set(&h.Item, fixed)
		time.Sleep(2 * time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
		if n := len(s.log()); n != 2 {
			t.Errorf("renewed %d times after the plan was not to renew", n-2)
		}
	})
}

func TestUntilCapsTheDeadlineAndNotTheTrust(t *testing.T) {
	t.Parallel()
	now := time.Now()
	trusted := renew.Trust(now, time.Minute)
	for _, c := range []struct{ until, want time.Time }{
		{time.Time{}, trusted},
		{now.Add(time.Hour), trusted},
		{now.Add(second), now.Add(second)},
		{now.Add(-second), now.Add(-second)},
	} {
		term := renew.Term{Asked: now, Trusted: trusted, Lease: time.Minute, Every: second, Until: c.until}
		if got := term.Deadline(); !got.Equal(c.want) {
			t.Errorf("until %v the deadline is %v", c.until.Sub(now), got.Sub(now))
		}
	}
	e := start(t, newServer().renew)
	h := newHolder()
	e.Set(&h.Item, renew.Term{Asked: now, Lease: time.Minute, Until: now.Add(10 * second)})
	e.Set(&h.Item, renew.Term{Asked: now, Lease: time.Minute, Trusted: trusted, Until: now.Add(20 * second)})
	e.Set(&h.Item, renew.Term{Lease: time.Minute})
	if got := h.Term().Deadline(); !got.Equal(trusted) {
		t.Errorf("when the end is lifted the deadline is %v, want what was confirmed", got.Sub(now))
	}
}

// While it is held a lease in Redis never falls, so what was asked for stands.
func TestARenewalBuiltBeforeAShorterPlanIsTrustedByWhatItAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = second
		h := newHolder()
		began := time.Now()
		e.Set(&h.Item, term(time.Hour))
		time.Sleep(20*time.Minute + second/2) // a renewal for an hour is under way
		e.Set(&h.Item, renew.Term{Lease: 6 * second, Every: 2 * second})
		time.Sleep(second)
		want := renew.Trust(began.Add(20*time.Minute), time.Hour)
		if got := h.Term().Deadline(); !got.Equal(want) || got.After(s.expires(&h.Item)) {
			t.Errorf("trusted for %v, want %v; Redis keeps it for %v", got.Sub(began), want.Sub(began), s.expires(&h.Item).Sub(began))
		}
	})
}

// A hold without an end joins one that has one, while a renewal of the latter is under way.
func TestALeaseThatIsToLastLongerIsAskedForAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = second
		h := newHolder()
		began := time.Now()
		first := term(30 * second)
		first.Until = began.Add(15 * second)
		first.Trusted = renew.Trust(began, 12*second)
		e.Set(&h.Item, first)
		time.Sleep(100 * time.Millisecond) // a renewal for 15 s is under way
		e.Set(&h.Item, renew.Term{Lease: 30 * second, Every: 10 * second})
		time.Sleep(second)
		synctest.Wait()
		if got, most := h.Term().Deadline(), s.expires(&h.Item); got.After(most) {
			t.Errorf("trusted for %v longer than Redis keeps it", got.Sub(most))
		}
		time.Sleep(time.Minute)
		wantNoLoss(t, h)
		if moments := s.moments(began, &h.Item); len(moments) < 2 || moments[1] > 1100*time.Millisecond {
			t.Errorf("renewed at %v, want a second time at once", moments)
		}
	})
}

// Goal: whoever re-enters for a short time, again and again, does not postpone the renewal of
// what is held for longer.
func TestConfirmationsOfShortSpansDoNotPostponeARenewal(t *testing.T) {
	t.Parallel()
	for what, until := range map[string]time.Duration{"without an end": 0, "with one": time.Minute} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := start(t, newServer().renew)
				h := newHolder()
				plan := renew.Term{Lease: 30 * second, Every: 10 * second}
				began := time.Now()
				if until > 0 {
					plan.Until = began.Add(until)
				}
				e.Set(&h.Item, confirmed(plan, began, 30*second))
				for time.Since(began) < 55*second {
					e.Set(&h.Item, confirmed(plan, time.Now(), second))
					time.Sleep(4900 * time.Millisecond)
					wantNoLoss(t, h)
				}
				if late := e.Counts().Late; late > 0 {
					t.Errorf("%d late renewals", late)
				}
			})
		})
	}
}

// A longer span, of an inner hold with a fixed lease, leaves the rhythm of renewals as it is.
func TestAConfirmationOfALongSpanDoesNotPostponeARenewalNorBringAStorm(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		h := newHolder()
		began := time.Now()
		e.Set(&h.Item, confirmed(renew.Term{Lease: 30 * second, Every: 10 * second}, began, time.Hour))
		time.Sleep(35 * second)
		if got := s.moments(began, &h.Item); !slices.Equal(got, []time.Duration{10 * second, 20 * second, 30 * second}) {
			t.Errorf("renewed at %v", got)
		}
	})
}

// Goal: a renewal whose answer is taken does not put back a plan that is changed in the same moment. Method:
// the engine reads a term and writes it back under its mutex; no plan may change in between.
func TestAPlanDoesNotChangeWhileARenewalLands(t *testing.T) {
	t.Parallel()
	e := start(t, newServer().renew)
	h := newHolder()
	e.Set(&h.Item, term(time.Hour))
	before, plan, done := h.Term(), renew.Term{Lease: time.Minute}, make(chan struct{})
	e.WhileTaking(func() {
		go func() { e.Set(&h.Item, plan); close(done) }()
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); runtime.Gosched() {
			if h.Term() != before {
				t.Fatal("the plan was changed")
			}
		}
	})
	<-done
	if got := h.Term(); got.Every != 0 || got.Lease != plan.Lease {
		t.Errorf("afterwards the plan is %+v", got)
	}
}

// Goal: a loss is told once. Method: the answer that the lease is gone comes in the moment in
// which its time is up, and in which it is set once more.
func TestLostIsCalledOnceThoughTwoReasonsMeet(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			h := newHolder()
			var deadline time.Time
			e := start(t, func(context.Context, []renew.Renewal) []renew.Answer {
				time.Sleep(time.Until(deadline))
				return []renew.Answer{{}}
			})
			first := term(30 * second)
			deadline = first.Deadline()
			e.Set(&h.Item, first)
			time.Sleep(time.Until(deadline))
			e.Set(&h.Item, renew.Term{Lease: 30 * second, Every: 10 * second})
			time.Sleep(time.Minute)
			if n := len(h.lost()); n != 1 {
				t.Fatalf("Lost was called %d times", n)
			}
		})
	}
}
