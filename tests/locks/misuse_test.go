package locks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What happens to a caller who does not do what most callers do.

// Do tells of a loss also if fn has unlocked the hold itself and says nothing.
func TestDoTellsOfALossThatFnKeepsToItself(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		err := redlatch.Do(s.Limited(), s.Client.Mutex("job"), func(ctx context.Context, h *redlatch.Hold) error {
			_ = check.Must(s.Client.Mutex("job").ForceUnlock(ctx))
			<-h.Done()
			_ = h.Unlock(ctx)
			return nil
		})
		check.Is(t, "Do", err, redlatch.ErrLost)
	})
}

// A hold is logged while other goroutines use it. The race detector watches.
func TestAHoldCanBePrinted(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(s.Limited()))
		printed := make(chan string)
		go func() { printed <- fmt.Sprintf("%v %+v %s", h, h, h) }()
		_ = h.Context()
		_ = h.Unlock(s.Limited())
		text := <-printed
		if want := fmt.Sprintf("%q held by %s", h.Name(), h.Owner()); text != want+" "+want+" "+want {
			t.Errorf("a hold is printed as %s, want %s three times", text, want)
		}
		whole := check.Must(check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.Mutex("b"))).Lock(s.Limited()))
		if got := fmt.Sprint(whole); got != fmt.Sprintf("%q", whole.Name()) {
			t.Errorf("a whole is printed as %s", got)
		}
		_ = whole.Unlock(s.Limited())
	})
}

func TestNewRefusesToWorkWithoutADriver(t *testing.T) {
	for _, d := range []driver.Driver{nil, (*rueidis.Driver)(nil)} {
		_, err := redlatch.New(d, redlatch.Config{})
		wrong, is := errors.AsType[*redlatch.ConfigError](err)
		if !is || !strings.Contains(wrong.Reason, "nil") {
			t.Errorf("New(%T) is %v, want a ConfigError", d, err)
		}
	}
}

// A lock that is nil, or that no client made, is an error and no panic, also if it is a nil pointer.
func TestDoRefusesALockThatIsNil(t *testing.T) {
	for _, l := range []redlatch.Lock{
		nil, (*redlatch.Mutex)(nil), (*redlatch.RWMutex)(nil), (*redlatch.Multi)(nil), (*redlatch.Quorum)(nil),
		(*redlatch.RWMutex)(nil).RLocker(), (*redlatch.PermitSemaphore)(nil).Locker(),
		&redlatch.Mutex{}, &redlatch.RWMutex{}, (&redlatch.RWMutex{}).RLocker(), (&redlatch.PermitSemaphore{}).Locker(),
	} {
		_, err := redlatch.DoValue(t.Context(), l, func(context.Context, *redlatch.Hold) (int, error) {
			t.Error("it ran")
			return 0, nil
		})
		if wrong, is := errors.AsType[*redlatch.ConfigError](err); !is || wrong.Field != "lock" || !strings.Contains(wrong.Reason, "nil") && !strings.Contains(wrong.Reason, "by a Client") {
			t.Errorf("%T: the error is %v, want a ConfigError", l, err)
		}
	}
}

// Goal: the zero value of what a client makes is an error of each method, and no panic.
func TestWhatNoClientMadeIsAnErrorOfEachMethod(t *testing.T) {
	ctx := t.Context()
	m, rw, p, s, l := &redlatch.Mutex{}, &redlatch.RWMutex{}, &redlatch.PermitSemaphore{}, &redlatch.Semaphore{}, &redlatch.Latch{}
	for what, err := range map[string]error{
		"TryLock": check.ErrOf(m.TryLock(ctx)), "Status": check.ErrOf(m.Status(ctx)), "ForceUnlock": check.ErrOf(m.ForceUnlock(ctx)),
		"ForceUnlockIf": check.ErrOf(m.ForceUnlockIf(ctx, "a:1")), "RLock": check.ErrOf(rw.RLock(ctx, redlatch.WithLease(time.Second))),
		"StatusOf": check.ErrOf(rw.StatusOf(ctx, "a:1")), "AddPermits of leases": p.AddPermits(ctx, 1), "TryAcquire of leases": check.ErrOf(p.TryAcquire(ctx)),
		"Available": check.ErrOf(p.Available(ctx)), "TrySetPermits": check.ErrOf(s.TrySetPermits(ctx, 1)), "AddPermits": s.AddPermits(ctx, 1),
		"Acquire": s.Acquire(ctx, 1), "TryAcquire": check.ErrOf(s.TryAcquire(ctx, 1)), "Release": s.Release(ctx, 1), "Drain": check.ErrOf(s.Drain(ctx)),
		"TrySetCount": check.ErrOf(l.TrySetCount(ctx, 1)), "CountDown": l.CountDown(ctx), "Count": check.ErrOf(l.Count(ctx)), "Wait": l.Wait(ctx),
	} {
		if wrong, is := errors.AsType[*redlatch.ConfigError](err); !is || !strings.Contains(wrong.Reason, "by a Client") {
			t.Errorf("%s: the error is %v, want a ConfigError", what, err)
		}
	}
}

// A function that is nil is an error before anything is locked.
func TestDoRefusesAFunctionThatIsNil(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		var fn func(context.Context, *redlatch.Hold) (int, error)
		_, ofValue := redlatch.DoValue(s.Limited(), s.Client.Mutex("job"), fn)
		for _, err := range []error{redlatch.Do(s.Limited(), s.Client.Mutex("job"), nil), ofValue} {
			if wrong, is := errors.AsType[*redlatch.ConfigError](err); !is || wrong.Field != "fn" {
				t.Errorf("the error is %v, want a ConfigError", err)
			}
		}
		if status := check.Must(s.Client.Mutex("job").Status(s.Limited())); status.Locked {
			t.Error("the lock is held")
		}
	})
}

// The last of several equal options counts.
func TestTheLastOfEqualOptionsCounts(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour), redlatch.WithLease(time.Minute)))
		if left := time.Until(h.Deadline()); left > time.Minute {
			t.Errorf("the hold lasts for %v, want a minute", left)
		}
		_ = h.Unlock(s.Limited())
	})
}

// Goal: a caller of Do can tell that its function was not called from an error of the function, also if that has an
// inner lock that was not acquired.
func TestDoTellsWhetherItsFunctionWasCalled(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx := t.Context()
		held := check.Must(s.Client.Mutex("held").Lock(ctx))
		nothing := func(context.Context, *redlatch.Hold) error { return nil }
		inner := func(ctx context.Context, _ *redlatch.Hold) error {
			return fmt.Errorf("inner: %w", redlatch.Do(ctx, s.Client.Mutex("held"), nothing, redlatch.WithWait(0)))
		}
		for _, c := range []struct {
			name     string
			err      error
			uncalled bool
			matches  error
		}{
			{"held", redlatch.Do(ctx, s.Client.Mutex("held"), nothing, redlatch.WithWait(0)), true, redlatch.ErrNotAcquired},
			{"inner", redlatch.Do(ctx, s.Client.Mutex("free"), inner), false, redlatch.ErrNotAcquired},
			{"nil", redlatch.Do(ctx, nil, nothing), true, nil},
			{"a bad name", redlatch.Do(ctx, s.Client.Mutex(""), nothing), true, redlatch.ErrInvalidName},
		} {
			if c.err == nil || errors.Is(c.err, redlatch.ErrNotCalled) != c.uncalled || c.matches != nil && !errors.Is(c.err, c.matches) {
				t.Errorf("%s: %v", c.name, c.err)
			}
		}
		_, err := redlatch.DoValue(ctx, s.Client.Mutex("held"), func(context.Context, *redlatch.Hold) (int, error) { return 1, nil }, redlatch.WithWait(0))
		if !errors.Is(err, redlatch.ErrNotCalled) {
			t.Error("DoValue:", err)
		}
		if _, wrong := errors.AsType[*redlatch.ConfigError](redlatch.Do(ctx, nil, nothing)); !wrong {
			t.Error("a missing lock is no ConfigError")
		}
		check.Is(t, "Unlock", held.Unlock(ctx))
	})
}
