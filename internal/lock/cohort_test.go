package lock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// An owner that lives for long does not remember the locks that it has given back.
func TestAnOwnerForgetsTheTurnsThatItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m := manager()
		ctx := m.WithOwner(context.Background())
		opts := &Options{Lease: 30 * time.Second, Wait: Forever, Cohort: 20 * time.Millisecond}
		for _, name := range []string{"one", "two"} {
			r := m.Mutex(name)
			outer, err := r.Acquire(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			inner, err := r.Acquire(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			if name == "two" {
				outer, inner = inner, outer
			}
			if err := outer.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
			if err := inner.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if n := len(m.ownerOf(ctx).grants); n > 0 {
			t.Errorf("the owner remembers %d locks", n)
		}
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
