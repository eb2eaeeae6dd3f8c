package weather_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Servers that forget, restart, freeze, are down or refuse.

func TestAServerThatRestartsEmptyUnderHoldersAndWaiters(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cfg := redlatch.Config{LeaseTime: 3 * time.Second}
	c, other := fixture.Open(t, server.URL(), cfg), fixture.Open(t, server.URL(), cfg)
	h := check.Must(c.Mutex("job").Lock(t.Context()))
	got := make(chan error, 1)
	go func() {
		next, err := other.Mutex("job").Lock(t.Context())
		if err == nil {
			err = next.Unlock(t.Context())
		}
		got <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return other.Stats().Subscriptions == 1 }, "somebody waits")
	server.Kill()
	server.Restart(t)
	if err := <-got; err != nil {
		t.Error("the waiter did not survive the restart:", err)
	}
	<-h.Done()
	check.Is(t, "Err of the holder", h.Err(), redlatch.ErrLost)
}

// TestLongAFrozenServer stops the server as a whole: it accepts connections and
// answers nothing.
func TestLongAFrozenServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{LeaseTime: 2 * time.Second, CommandTimeout: 1500 * time.Millisecond, ReleaseTimeout: 300 * time.Millisecond})
	h := check.Must(c.Mutex("held").Lock(t.Context()))
	other := check.Must(c.Mutex("other").Lock(t.Context(), redlatch.WithLease(time.Minute)))
	expiry := time.Now().Add(2 * time.Second)
	server.Freeze()

	began := time.Now()
	_, err := c.Mutex("free").Lock(t.Context(), redlatch.WithWait(200*time.Millisecond))
	check.Within(t, "wait with a frozen server", time.Since(began), 200*time.Millisecond, 250*time.Millisecond+fixture.Slack)
	check.Is(t, "Lock", err, redlatch.ErrUnknownOutcome)
	if errors.Is(err, redlatch.ErrNotAcquired) {
		t.Errorf("a frozen server became %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = c.Mutex("free").TryLock(ctx)
	check.Is(t, "TryLock", err, redlatch.ErrUnknownOutcome, context.Canceled)

	began = time.Now()
	check.Is(t, "Unlock", other.Unlock(t.Context()), redlatch.ErrUnknownOutcome)
	check.Within(t, "Unlock with a frozen server", time.Since(began), 250*time.Millisecond, 300*time.Millisecond+fixture.Slack)

	if late := lastValid(h).Sub(expiry); late > 0 {
		t.Errorf("the hold was valid %v after the expiry in Redis", late)
	}
	began = time.Now()
	_, err = c.Mutex("free").Lock(t.Context())
	check.Within(t, "Lock without any bound of the caller's", time.Since(began), 0, 1500*time.Millisecond+fixture.Slack)
	if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
		t.Errorf("Lock is %v, want an error of the network", err)
	}
	server.Thaw()
	redistest.Eventually(t, 10*time.Second, func() bool {
		h, err := c.Mutex("free").TryLock(t.Context())
		return err == nil && h.Unlock(t.Context()) == nil
	}, "the client works again")
}

// lastValid waits for the end of a hold and returns a moment at which it was still valid,
// not long before. Unlike the moment at which a goroutine is woken, it does not depend on
// how busy the machine is.
func lastValid(h *redlatch.Hold) time.Time {
	var last time.Time
	for {
		now := time.Now()
		if !h.Valid() {
			return last
		}
		last = now
		select {
		case <-h.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

func TestLongAServerThatIsDown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{CommandTimeout: 500 * time.Millisecond})
	h := check.Must(c.Mutex("job").Lock(t.Context()))
	server.Kill()
	began := time.Now()
	_, err := c.Mutex("free").Lock(t.Context())
	check.Within(t, "Lock", time.Since(began), 0, 500*time.Millisecond+fixture.Slack)
	if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
		t.Errorf("Lock is %v, want an error of the network", err)
	}
	if err := h.Unlock(t.Context()); err == nil {
		t.Error("Unlock succeeded without a server")
	}
	_, err = redlatch.Open(t.Context(), server.URL(), redlatch.Config{CommandTimeout: 500 * time.Millisecond})
	check.Is(t, "Open", err, syscall.ECONNREFUSED)
	server.Restart(t)
	redistest.Eventually(t, 10*time.Second, func() bool {
		h, err := c.Mutex("free").TryLock(t.Context())
		return err == nil && h.Unlock(t.Context()) == nil
	}, "the client works again")
}

// TestAServerThatMayNotPublish locks with an ACL that knows no channels: the lock
// is released all the same, and the waiter finds it by itself.
func TestAServerThatMayNotPublish(t *testing.T) {
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "silent", "on", ">secret", "~*", "+@all", "resetchannels")
	url := fmt.Sprintf("redis://silent:secret@%s", server.Addr())
	holder := fixture.Open(t, url, redlatch.Config{})
	waiter := fixture.Open(t, url, redlatch.Config{PollCap: 100 * time.Millisecond})
	h := check.Must(holder.Mutex("job").Lock(t.Context()))
	got := make(chan error, 1)
	go func() {
		h, err := waiter.Mutex("job").Lock(t.Context())
		if err == nil {
			err = h.Unlock(t.Context())
		}
		got <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return waiter.Stats().Waiters == 1 }, "somebody waits")
	if err := h.Unlock(t.Context()); err != nil {
		t.Error("Unlock:", err)
	}
	if err := <-got; err != nil {
		t.Error("the waiter:", err)
	}
}
