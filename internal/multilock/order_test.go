package multilock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Members are renewed, and their keys do not outlive the whole. What else is asked of the whole is asked
// of none of them.
func TestWhatIsAskedOfEachMember(t *testing.T) {
	t.Parallel()
	backoff := lock.Backoff{First: time.Millisecond, Max: time.Second}
	for name, c := range map[string]struct {
		whole    lock.Options
		lease    time.Duration
		confirms bool
	}{
		"the default":             {lock.Options{Lease: lease}, lease, false},
		"a short lease":           {lock.Options{Lease: time.Second, Fixed: true}, time.Second, true},
		"a long lease":            {lock.Options{Lease: time.Hour, Fixed: true}, lease, true},
		"a short maximum":         {lock.Options{Lease: lease, MaxHold: 2 * time.Second}, 2 * time.Second, true},
		"a long maximum":          {lock.Options{Lease: lease, MaxHold: time.Hour}, lease, true},
		"replicas, fenced, polls": {lock.Options{Lease: lease, Replicas: 2, Fenced: true, Backoff: backoff}, lease, true},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, 3, func(s *stage) {
				o := s.quorum(c.whole)
				want := lock.Options{Lease: c.lease, Open: c.whole.Fixed || c.whole.MaxHold > 0, Wait: c.whole.Wait, Fenced: c.whole.Fenced, Backoff: c.whole.Backoff}
				for i, got := range o.each {
					if got != want {
						t.Errorf("member %d is asked for %+v, want %+v", i, got, want)
					}
				}
				if o.whole != c.whole || o.confirms() != c.confirms || o.need != 2 {
					t.Errorf("the whole: %+v, confirms %v, needs %d", o.whole, o.confirms(), o.need)
				}
			})
		})
	}
}

func TestHowLongAnOrderWaits(t *testing.T) {
	t.Parallel()
	story(t, 1, func(s *stage) {
		for _, c := range []struct {
			wait  time.Duration
			waits bool
			until time.Duration // 0: the context alone bounds it
		}{{0, false, 0}, {lock.Forever, true, 0}, {5 * time.Second, true, 5 * time.Second}} {
			o := s.quorum(lock.Options{Lease: lease, Wait: c.wait})
			limited, cancel := o.limit(context.Background())
			end, bounded := limited.Deadline()
			cancel()
			if o.waits() != c.waits || bounded != (c.until > 0) || bounded && time.Until(end) != c.until || o.timeIsUp() {
				t.Errorf("a wait of %v: waits %v until %v, bounded %v", c.wait, o.waits(), time.Until(end), bounded)
			}
			time.Sleep(c.until)
			if o.timeIsUp() != bounded {
				t.Errorf("after a wait of %v the time is up: %v", c.wait, o.timeIsUp())
			}
		}
	})
}

// The error of an order whose context has ended says what is known of the members.
func TestTheErrorOfAnOrderWhoseTimeIsUp(t *testing.T) {
	t.Parallel()
	cause := errors.New("the caller went home")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	server := &driver.ServerError{Message: "ERR no"}
	unknown := errors.Join(lockerr.ErrUnknownOutcome, context.Canceled)
	both := errors.Join(lockerr.ErrNotAcquired, server)
	for _, c := range []struct {
		err        error
		want       error
		alone, too error // of the conditions: the one that it is, and the server's error
	}{
		{nil, lockerr.ErrNotAcquired, lockerr.ErrNotAcquired, nil},
		{context.Canceled, lockerr.ErrNotAcquired, lockerr.ErrNotAcquired, nil},
		{unknown, lockerr.ErrUnknownOutcome, lockerr.ErrUnknownOutcome, nil},
		{server, server, nil, server},
		{both, lockerr.ErrNotAcquired, lockerr.ErrNotAcquired, server},
	} {
		err := order{kind: "Multi", name: "x+y"}.timeUp(ctx, c.err)
		if !errors.Is(err, c.want) || !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || c.too != nil && !errors.Is(err, c.too) {
			t.Errorf("%v: %v", c.err, err)
		}
		for _, condition := range []error{lockerr.ErrNotAcquired, lockerr.ErrUnknownOutcome} {
			if errors.Is(err, condition) != (condition == c.alone) {
				t.Errorf("%v: is %v: %v", c.err, condition, err)
			}
		}
	}
}

// A Multi on one server waits for ever while it holds others: nobody takes the same locks in another
// order. On several servers it may, and two that wait for each other do not give way together.
func TestPatience(t *testing.T) {
	t.Parallel()
	story(t, 2, func(s *stage) {
		a, b := s.sites[0], s.sites[1]
		if p := (order{Set: Set{[]Member{a.of("x"), a.of("y")}}}).patience(); p.Next() != 0 {
			t.Errorf("on one server %v", p)
		}
		if p := (order{Set: Set{[]Member{a.of("x"), b.of("x")}}}).patience(); p.First != firstPatience || p.Next() == p.After(0) {
			t.Errorf("on two servers %v, without jitter", p)
		}
	})
}

// Waits that end at the same time are not to vote at the same time, again and again.
func TestRivalsWithOneDeadlineDoNotPauseEquallyLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		same := 0
		for range 1000 { // no time passes
			a, b := newLookout(order{}), newLookout(order{})
			for range 5 {
				a.backoff.Next()
				b.backoff.Next()
			}
			if a.apart(limited) == b.apart(limited) {
				same++
			}
		}
		if same > 10 {
			t.Errorf("%d of 1000 pairs of rivals pause equally long", same)
		}
	})
}
