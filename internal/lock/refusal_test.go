package lock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/renew"
)

// A hold whose deadline has passed may not have ended yet. Nothing is left of its lease then, which is not a lease without
// an end.
func TestARefusalBecauseOfAHoldWhoseDeadlineHasPassed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m, ctx := manager(), context.Background()
		r := m.Mutex("job")
		h, err := r.Acquire(ctx, &Options{Lease: time.Second, Fixed: true})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		err = r.NotAcquired(ctx, h)
		refused, _ := errors.AsType[*lockerr.NotAcquiredError](err)
		if refused == nil || refused.TTL != 0 || !strings.HasSuffix(err.Error(), ", 0s left when last seen") {
			t.Errorf("got %v", err)
		}
		_ = m.Close(ctx)
	})
}

// Goal: a second request that says that a grant has ended is refused because the first one has freed the lock. That is no proof
// that an inner hold, whose release comes behind both, was lost. Without the first one it is. Method: the requests are carried
// out in every order.
func TestARefusalBehindAReleaseProvesNoLoss(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		ends  []int // the requests that say so, in the order in which they are carried out
		force bool
		want  error
	}{
		{"one", []int{0}, false, nil},
		{"two", []int{0, 1}, false, nil},
		{"two that overtake", []int{1, 0}, false, nil},
		{"none has freed it", []int{0}, true, lockerr.ErrLost},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, manager := inProcess(t)
				defer d.Close()
				m := manager()
				ctx, r := m.WithOwner(context.Background()), m.Mutex("job")
				opts := &Options{Lease: 30 * time.Second, Wait: Forever}
				outer, inner := redistest.Must(r.Acquire(ctx, opts)), redistest.Must(r.Acquire(ctx, opts))
				g := outer.grant()
				late, err := g.endHold(inner)
				if err != nil {
					t.Fatal(err)
				}
				if c.force {
					d.Miniredis().Del("job")
				}
				g.Lost(renew.ErrExpired)
				g.mu.Lock()
				var ends []ending
				for range c.ends {
					ends = append(ends, g.ending())
				}
				g.mu.Unlock()
				for _, i := range c.ends {
					_ = m.settle(ctx, &ends[i])
				}
				if err := m.settle(ctx, &late); !errors.Is(err, c.want) {
					t.Errorf("the release of the inner hold is %v, want %v", err, c.want)
				}
				_ = m.Close(ctx)
			})
		})
	}
}
