package renew_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

func TestALeaseWithAnEndIsRenewedUpToItAndNotBeyond(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		h := newHolder()
		began := time.Now()
		end := began.Add(75 * second)
		first := term(30 * second)
		first.Until = end
		e.Set(&h.Item, first)
		time.Sleep(2 * time.Minute)
		want := []time.Duration{10 * second, 20 * second, 30 * second, 40 * second, 50 * second}
		if got := s.moments(began, &h.Item); !slices.Equal(got, want) {
			t.Errorf("renewed at %v, want %v", got, want)
		}
		if got := s.expires(&h.Item); !got.Equal(end) {
			t.Errorf("it expires %v after its end", got.Sub(end))
		}
		wantLoss(t, h, renew.ErrExpired, end.Add(-252*time.Millisecond))
	})
}

func TestAnOutageBeforeTheEndOfALeaseDoesNotMoveIt(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		h := newHolder()
		end := time.Now().Add(65 * second)
		first := term(30 * second)
		first.Until = end
		e.Set(&h.Item, first)
		time.Sleep(35 * second) // renewed up to the 60th
		s.set(func() { s.down = errDown })
		time.Sleep(24 * second)
		s.set(func() { s.down = nil })
		time.Sleep(time.Minute)
		if got := s.expires(&h.Item); got.After(end) {
			t.Errorf("it expires %v after its end", got.Sub(end))
		}
		if losses := h.lost(); len(losses) != 1 || losses[0].at.After(end) || losses[0].at.Before(end.Add(-time.Second)) {
			t.Errorf("lost: %v", losses)
		}
		if n := len(s.log()); n > 100 {
			t.Errorf("%d requests", n)
		}
	})
}

// A pause that reaches beyond the end leaves nothing to be asked for.
func TestNoGuardExtendsALeaseBeyondItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		e := startGuarded(t, s, true)
		within, beyond := newHolder(), newHolder()
		began := time.Now()
		for h, until := range map[*holder]time.Duration{within: 500 * second, beyond: 200 * second} {
			first := term(30 * second)
			first.Until = began.Add(until)
			e.Set(&h.Item, first)
		}
		pauseIn(e, s, 5*second, 300*second)
		time.Sleep(400 * second)
		wantLossNear(t, beyond, renew.ErrExpired, began.Add(305*second))
		wantNoLoss(t, within)
		time.Sleep(200 * second)
		wantLossNear(t, within, renew.ErrExpired, within.Term().Deadline())
		if n := len(s.moments(began, &beyond.Item)); n > 0 {
			t.Errorf("asked %d times for what is over", n)
		}
	})
}
