package redlatch_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// quiet keeps the losses that tests provoke out of their output.
func quiet(cfg redlatch.Config) redlatch.Config {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// eachServer runs a test on the embedded server and on a real one: the embedded
// server counts only because it passes the same tests.
func eachServer(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, "memory://"+redistest.Name(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Shared(t).URL())
	})
}

// open connects a client for the length of a test.
func open(t *testing.T, url string, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	c, err := redlatch.Open(t.Context(), url, quiet(cfg))
	return closedAtEnd(t, c, err)
}

// openOn returns a client on a driver, until the end of the test.
func openOn(t *testing.T, d driver.Driver) *redlatch.Client {
	t.Helper()
	c, err := redlatch.New(d, quiet(redlatch.Config{}))
	return closedAtEnd(t, c, err)
}

// closedAtEnd closes a client that was opened at the end of the test.
func closedAtEnd(t *testing.T, c *redlatch.Client, err error) *redlatch.Client {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error("close:", err)
		}
	})
	return c
}

// wantNothingIn fails for each hold, waiter and loss of these clients.
func wantNothingIn(t *testing.T, clients []*redlatch.Client) {
	t.Helper()
	for _, c := range clients {
		if st := c.Stats(); st.Holds != 0 || st.Waiters != 0 || st.Losses != 0 {
			t.Errorf("left over: %+v", st)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// within fails unless got lies in [low, high].
func within[T int | int64 | time.Duration](t *testing.T, what string, got, low, high T) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s is %v, want between %v and %v", what, got, low, high)
	}
}

// is fails unless err matches each of the targets.
func is(t *testing.T, what string, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%s is %v, want one that matches %v", what, err, target)
		}
	}
}
