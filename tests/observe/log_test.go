package observe_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What a log handler may do.

// The server lets the waiter lock and not listen, which is logged.
func TestALogHandlerMayAskForStats(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "deaf", "on", ">secret", "~*", "+@all", "resetchannels")
	var c *redlatch.Client
	logged := make(chan string, 100)
	log := slog.New(fixture.LogHandler(func(message string) {
		logged <- fmt.Sprintf("%s: %d wait", message, c.Stats().Waiters)
	}))
	c = check.Must(redlatch.Open(t.Context(), fmt.Sprintf("redis://deaf:secret@%s", server.Addr()),
		redlatch.Config{Logger: log, PollCap: 100 * time.Millisecond}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	h := check.Must(fixture.Open(t, server.URL(), redlatch.Config{}).Mutex("job").Lock(t.Context()))
	got := make(chan error, 1)
	go func() {
		next, err := c.Mutex("job").Lock(t.Context())
		if err == nil {
			err = next.Unlock(t.Context())
		}
		got <- err
	}()
	limit := time.After(30 * time.Second)
	select {
	case message := <-logged:
		t.Log(message)
	case <-limit:
		t.Fatal("the handler that was told of a refused subscription does not return from Stats")
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Error("the waiter:", err)
		}
	case <-limit:
		t.Error("the waiter is not served")
	}
}

// One lock is lost, and telling the log of that takes a minute.
func TestASlowLogHandlerDoesNotKeepOtherLocksFromBeingRenewed(t *testing.T) {
	var told atomic.Int64
	log := slog.New(fixture.LogHandler(func(string) {
		told.Add(1)
		time.Sleep(time.Minute)
	}))
	stage.Story(t, redlatch.Config{Logger: log}, func(t *testing.T, s *stage.Stage) {
		short := check.Must(s.Client.Mutex("short").Lock(s.Limited(), redlatch.WithLease(5*time.Second)))
		h := check.Must(s.Client.Mutex("job").Lock(s.Limited()))
		<-short.Done()
		time.Sleep(40 * time.Second)
		if n := told.Load(); n != 1 {
			t.Fatalf("the log was told %d times, want once, of the loss", n)
		}
		if !h.Valid() || !s.Memory.Miniredis().Exists("job") {
			t.Errorf("the other hold is valid: %v, %v; in Redis: %v", h.Valid(), h.Err(), s.Memory.Miniredis().Exists("job"))
		}
		time.Sleep(time.Minute)
	})
}

// A log handler hangs. Unlock is bounded by ReleaseTimeout, Close by the client's timeouts.
func TestABlockedLogHandlerHoldsNobodyUp(t *testing.T) {
	stuck := make(chan struct{})
	log := slog.New(fixture.LogHandler(func(string) { <-stuck }))
	synctest.Test(t, func(t *testing.T) {
		stuck = make(chan struct{})
		m := check.Must(memory.Open(context.WithoutCancel(t.Context()), memory.Options{}))
		c := check.Must(redlatch.New(m, redlatch.Config{Logger: log}))
		ctx := context.WithoutCancel(t.Context())
		short := check.Must(c.Mutex("short").Lock(ctx, redlatch.WithLease(time.Second)))
		h := check.Must(c.Mutex("job").Lock(ctx))
		<-short.Done()
		synctest.Wait() // the handler blocks
		closed := make(chan error, 1)
		go func() { closed <- c.Close(ctx) }()
		synctest.Wait()
		unlocked := make(chan error, 1)
		go func() { unlocked <- h.Unlock(ctx) }()
		time.Sleep(time.Hour)
		select {
		case err := <-unlocked:
			t.Log("Unlock:", err)
		default:
			t.Error("Unlock, bounded by ReleaseTimeout, has not returned after an hour")
		}
		select {
		case err := <-closed:
			t.Log("Close:", err)
		default:
			t.Error("Close, every part of which is bounded by the client's own timeouts, has not returned after an hour")
		}
		close(stuck)
		time.Sleep(time.Second)
		m.Close()
	})
}
