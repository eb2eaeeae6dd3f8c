package redlatch_test

import (
	"errors"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: an operator who looked at a lock, and then frees it, cannot take it from the
// next holder.
func TestForceUnlockIfTakesTheLockFromThatOwnerAlone(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, url string) {
		ctx := t.Context()
		c := open(t, url, redlatch.Config{})
		m := c.Mutex(redistest.Name(t))
		first := must(m.Lock(ctx))
		seen := first.Owner()
		if err := first.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if forced := must(m.ForceUnlockIf(ctx, seen)); forced {
			t.Error("it forced a lock that was free")
		}
		second := must(m.Lock(ctx))
		if forced := must(m.ForceUnlockIf(ctx, seen)); forced || !must(m.Status(ctx)).Locked {
			t.Error("it took the lock from the next holder")
		}
		if forced := must(m.ForceUnlockIf(ctx, second.Owner())); !forced || must(m.Status(ctx)).Locked {
			t.Error("it did not take the lock from the holder it was told")
		}
		is(t, "the holder's Unlock", second.Unlock(ctx), redlatch.ErrLost)
	})
}

// An empty owner, from a variable that was not set, must not mean everybody.
func TestForceUnlockIfRefusesWhatNoOwnerCanBe(t *testing.T) {
	t.Parallel()
	c := open(t, "memory://"+redistest.Name(t), redlatch.Config{})
	m := c.Mutex("job")
	hold := must(m.Lock(t.Context()))
	_, err := m.ForceUnlockIf(t.Context(), "")
	if config := new(*redlatch.ConfigError); !errors.As(err, config) || (*config).Field != "owner" {
		t.Errorf("an empty owner: %v", err)
	}
	for _, owner := range []string{"me", "me:", ":1", "me:one", hold.Owner() + "0"} {
		if forced, err := m.ForceUnlockIf(t.Context(), owner); forced || err != nil {
			t.Errorf("owner %q: %v, %v", owner, forced, err)
		}
	}
	if !hold.Valid() || !must(m.Status(t.Context())).Locked {
		t.Error("the lock is gone")
	}
}
