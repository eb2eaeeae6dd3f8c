package wholes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a hold whose lease is longer than its WithMaxHold gives no member of a Quorum a lease beyond RestartDelay. Method: the
// owner has such a hold and others without a limit. The release of one of these asks for the longest lease that is left.
func TestALeaseBeyondMaxHoldDoesNotReachAQuorum(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all, owner := aged(t, ctx)
		for _, p := range all {
			m := p.Client.Mutex("job")
			check.Must(m.Lock(owner, redlatch.WithLease(time.Hour), redlatch.WithMaxHold(10*time.Second)))
			check.Must(m.Lock(owner, redlatch.WithLease(20*time.Second)))
			brief := check.Must(m.Lock(owner, redlatch.WithLease(20*time.Second)))
			check.Is(t, "Unlock", brief.Unlock(ctx), nil)
		}
		h, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(owner)
		if _, ok := errors.AsType[*redlatch.ConfigError](err); ok {
			return
		}
		check.Is(t, "Lock", err, nil)
		synctest.Wait()
		if left := time.Until(h.Deadline()); left > 30*time.Second {
			t.Errorf("the hold may be trusted for %v", left)
		}
		takenOver(t, ctx, all, h)
	})
}

// aged starts three servers that have been up for long, and returns a context with one owner at each.
func aged(t *testing.T, ctx context.Context) ([]*stage.Post, context.Context) {
	t.Helper()
	all := stage.Posts(t, 3, redlatch.Config{})
	for i, p := range all {
		ctx = p.Client.WithOwner(ctx)
		p.Set(stage.Aged(fmt.Sprint("run", i), stage.Seconds(1000)))
	}
	return all, ctx
}

// takenOver cuts a holder off, restarts two of the three servers empty, one after the other, and has another take the Quorum. The
// hold must have ended by then.
func takenOver(t *testing.T, ctx context.Context, all []*stage.Post, h *redlatch.Hold) {
	t.Helper()
	var rivals []*stage.Tap
	var locks []redlatch.Lock
	for i, p := range all {
		p.Set(stage.Dead)
		tap := &stage.Tap{Driver: p.Memory}
		tap.Set(stage.Aged(fmt.Sprint("run", i), stage.Seconds(1000)))
		rivals, locks = append(rivals, tap), append(locks, p.On(t, tap, redlatch.Config{}).Mutex("job"))
	}
	for i := range 2 {
		all[i].Memory.Miniredis().FlushAll()
		began := time.Now()
		rivals[i].Set(stage.Aged(fmt.Sprint("again", i), func() time.Duration { return time.Since(began) }))
		time.Sleep(31 * time.Second)
	}
	other := check.Must(check.Must(redlatch.NewQuorum(locks...)).Lock(ctx, redlatch.WithWait(time.Minute)))
	if h.Valid() {
		t.Errorf("there are two holders, the first one until %v", time.Until(h.Deadline()))
	}
	_ = other.Unlock(ctx)
	_ = h.Unlock(ctx)
}

// Goal: what was never sent keeps no owner from a Quorum. Method: Extend of a hold that was released, while its owner has another.
func TestAnExtensionThatIsNotSentDoesNotRefuseAQuorum(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all, owner := aged(t, ctx)
		for _, p := range all {
			first, _ := check.Must(p.Client.Mutex("job").Lock(owner)), check.Must(p.Client.Mutex("job").Lock(owner))
			_ = first.Unlock(ctx)
			check.Is(t, "Extend", first.Extend(ctx, time.Hour), redlatch.ErrReleased)
		}
		_ = check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(owner)).Unlock(ctx)
	})
}
