package locks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

func TestWhatAMutexLeavesInRedis(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		ctx, c, d, name := t.Context(), fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		told := fixture.Messages(t, d, "redisson_lock__channel:{"+name+"}")
		m := c.Mutex(name)
		ctx = c.WithOwner(ctx)

		outer := check.Must(m.Lock(ctx, redlatch.WithLease(20*time.Second)))
		if got, want := fixture.Fields(t, d, name), outer.Owner()+"=1"; got != want {
			t.Errorf("after Lock the hash is %q, want %q", got, want)
		}
		if !strings.HasPrefix(outer.Owner(), c.ID()+":") {
			t.Errorf("owner %q does not begin with the client's id %q", outer.Owner(), c.ID())
		}
		check.Within(t, "TTL after Lock", fixture.PTTL(t, d, name), 19*time.Second, 20*time.Second)

		inner := check.Must(m.Lock(ctx))
		if got, want := fixture.Fields(t, d, name), outer.Owner()+"=2"; got != want {
			t.Errorf("after re-entry the hash is %q, want %q", got, want)
		}
		check.Within(t, "TTL after re-entry", fixture.PTTL(t, d, name), 29*time.Second, 30*time.Second)

		if err := inner.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := fixture.Fields(t, d, name), outer.Owner()+"=1"; got != want {
			t.Errorf("after the inner Unlock the hash is %q, want %q", got, want)
		}
		check.Within(t, "TTL after the inner Unlock, which never falls", fixture.PTTL(t, d, name), 29*time.Second, 30*time.Second)
		if err := outer.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if got := fixture.Do(t, d, "EXISTS", name).Int; got != 0 {
			t.Error("the key is there after the last Unlock")
		}
		if got := <-told; got != "0" {
			t.Errorf("published %q, want \"0\"", got)
		}
		select {
		case got := <-told:
			t.Errorf("published %q besides", got)
		default:
		}
	})
}

func TestANameWithABraceBringsItsOwnTag(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), "{"+redistest.Name(t)+"}:x"
		told := fixture.Messages(t, d, "redisson_lock__channel:"+name)
		h := check.Must(c.Mutex(name).Lock(t.Context()))
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != "0" {
			t.Errorf("published %q, want \"0\"", got)
		}
	})
}

func TestAReleaseWakesAWaiterOfAnotherProcessAtOnce(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		calm := redlatch.Config{PollCap: time.Hour}
		fixture.HandOver(t, fixture.Open(t, url, calm), fixture.Open(t, url, calm), redistest.Name(t))
	})
}

func TestReentryBelowAnotherHoldIsToldOf(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, name := fixture.Open(t, url, redlatch.Config{}), redistest.Name(t)
		m := c.Mutex(name)
		h := check.Must(m.Lock(t.Context()))

		_, err := m.Lock(h.Context())
		check.Is(t, "Lock below the hold's context", err, redlatch.ErrReentry)
		_, err = m.TryLock(c.WithOwner(h.Context()))
		check.Is(t, "TryLock by another owner below the hold's context", err, redlatch.ErrReentry)
		other := check.Must(c.Mutex(name + "-2").Lock(h.Context()))
		_, err = m.Lock(other.Context())
		check.Is(t, "Lock below the context of a hold within", err, redlatch.ErrReentry)
		if err := errors.Join(other.Unlock(t.Context()), h.Unlock(t.Context())); err != nil {
			t.Fatal(err)
		}
		again := check.Must(m.Lock(context.WithoutCancel(h.Context())))
		if err := again.Unlock(t.Context()); err != nil {
			t.Error("below the context of a released hold:", err)
		}
	})
}

func TestDoHoldsTheLockWhileItsFunctionRuns(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, name := fixture.Open(t, url, redlatch.Config{}), redistest.Name(t)
		m := c.Mutex(name)
		wrong := errors.New("wrong")
		err := redlatch.Do(t.Context(), m, func(ctx context.Context, h *redlatch.Hold) error {
			if status := check.Must(m.Status(ctx)); !status.Locked || status.Holders[0].Owner != h.Owner() {
				t.Errorf("inside, status is %+v", status)
			}
			return wrong
		})
		check.Is(t, "Do", err, wrong)

		func() {
			defer func() {
				if recover() != "oh" {
					t.Error("the panic did not come through")
				}
			}()
			_ = redlatch.Do(t.Context(), m, func(context.Context, *redlatch.Hold) error { panic("oh") })
		}()
		if status := check.Must(m.Status(t.Context())); status.Locked {
			t.Errorf("after a panic, status is %+v", status)
		}

		err = redlatch.Do(t.Context(), m, func(ctx context.Context, _ *redlatch.Hold) error {
			check.Must(m.ForceUnlock(t.Context()))
			return nil
		})
		check.Is(t, "Do that lost its lock", err, redlatch.ErrLost)
	})
}

func TestDifferentLeasesOnOneMutexDoNotMix(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		m := c.Mutex(name)
		for _, lease := range []time.Duration{time.Second, time.Hour, 0, 5 * time.Second} {
			want, opts := lease, []redlatch.LockOption{redlatch.WithLease(lease)}
			if lease == 0 {
				want, opts = 30*time.Second, nil
			}
			h := check.Must(m.Lock(t.Context(), opts...))
			check.Within(t, fmt.Sprint("TTL of ", lease), fixture.PTTL(t, d, name), want-900*time.Millisecond, want)
			if left := fixture.PTTL(t, d, name); h.Deadline().After(time.Now().Add(left)) {
				t.Errorf("with lease %v, the local deadline lies behind the expiry in Redis", lease)
			}
			_ = h.Unlock(t.Context())
		}
	})
}
