package locks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: an operator who looked at a lock, and then frees it, cannot take it from the
// next holder.
func TestForceUnlockIfTakesTheLockFromThatOwnerAlone(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		ctx := t.Context()
		c := fixture.Open(t, url, redlatch.Config{})
		m := c.Mutex(redistest.Name(t))
		first := check.Must(m.Lock(ctx))
		seen := first.Owner()
		if err := first.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if forced := check.Must(m.ForceUnlockIf(ctx, seen)); forced {
			t.Error("it forced a lock that was free")
		}
		second := check.Must(m.Lock(ctx))
		if forced := check.Must(m.ForceUnlockIf(ctx, seen)); forced || !check.Must(m.Status(ctx)).Locked {
			t.Error("it took the lock from the next holder")
		}
		if forced := check.Must(m.ForceUnlockIf(ctx, second.Owner())); !forced || check.Must(m.Status(ctx)).Locked {
			t.Error("it did not take the lock from the holder it was told")
		}
		check.Is(t, "the holder's Unlock", second.Unlock(ctx), redlatch.ErrLost)
	})
}

// An empty owner, from a variable that was not set, must not mean everybody.
func TestForceUnlockIfRefusesWhatNoOwnerCanBe(t *testing.T) {
	t.Parallel()
	c := fixture.Open(t, "memory://"+redistest.Name(t), redlatch.Config{})
	m := c.Mutex("job")
	hold := check.Must(m.Lock(t.Context()))
	_, err := m.ForceUnlockIf(t.Context(), "")
	if config := new(*redlatch.ConfigError); !errors.As(err, config) || (*config).Field != "owner" {
		t.Errorf("an empty owner: %v", err)
	}
	for _, owner := range []string{"me", "me:", ":1", "me:one", hold.Owner() + "0"} {
		if forced, err := m.ForceUnlockIf(t.Context(), owner); forced || err != nil {
			t.Errorf("owner %q: %v, %v", owner, forced, err)
		}
	}
	if !hold.Valid() || !check.Must(m.Status(t.Context())).Locked {
		t.Error("the lock is gone")
	}
}

func TestForceUnlockFreesAndTellsTheHolder(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, name := fixture.Open(t, url, redlatch.Config{LeaseTime: 3 * time.Second}), redistest.Name(t)
		m := fixture.Open(t, url, redlatch.Config{}).Mutex(name)
		if forced := check.Must(m.ForceUnlock(t.Context())); forced {
			t.Error("a free mutex was forced")
		}
		h := check.Must(c.Mutex(name).Lock(t.Context()))
		if forced := check.Must(m.ForceUnlock(t.Context())); !forced {
			t.Error("a held mutex was not forced")
		}
		next := check.Must(m.TryLock(t.Context()))
		<-h.Done()
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		check.Is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
		if err := next.Unlock(t.Context()); err != nil {
			t.Error("the next holder was disturbed:", err)
		}
	})
}

// Goal: a forced unlock whose reply was lost is not reported as if nothing had happened, although the
// repeated request finds a free lock.
func TestAForcedUnlockWhoseReplyIsLostIsUnknown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	c := fixture.Open(t, proxy.URL(), redlatch.Config{})
	locks := map[string]interface {
		ForceUnlockIf(context.Context, string) (bool, error)
		Lock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error)
	}{"mutex": c.Mutex("mutex"), "fair": c.FairMutex("fair"), "rw": c.RWMutex("rw")}
	for name, m := range locks {
		check.Must(m.ForceUnlockIf(t.Context(), "me:1")) // so that the server knows the script
		owner := check.Must(m.Lock(t.Context())).Owner()
		proxy.DropReplies(1, redistest.Containing(owner))
		forced, err := m.ForceUnlockIf(t.Context(), owner)
		if forced || !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Errorf("%s: %v, %v", name, forced, err)
		}
		if forced, err = m.ForceUnlockIf(t.Context(), owner); forced || err != nil {
			t.Errorf("%s, of which nobody holds: %v, %v", name, forced, err)
		}
	}
}
