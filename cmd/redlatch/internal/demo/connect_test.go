package demo

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: each driver leads to the same lock. Method: the lock that one has taken is held for the other.
func TestEachDriverConnects(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	cfg := redlatch.Config{Logger: slog.New(slog.DiscardHandler)}
	clients := map[string]*redlatch.Client{}
	for _, driver := range []string{DriverRueidis, DriverGoRedis} {
		client, end, err := connect(t.Context(), driver, url, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { check(t, end()) })
		clients[driver] = client
	}
	hold, err := clients[DriverGoRedis].Mutex("one").Lock(t.Context())
	check(t, err)
	if _, err := clients[DriverRueidis].Mutex("one").TryLock(t.Context()); err == nil {
		t.Error("both drivers' clients hold the lock")
	}
	check(t, hold.Unlock(context.Background()))
}

// Goal: a URL that go-redis cannot read is refused, without its password.
func TestURLsThatGoRedisCannotRead(t *testing.T) {
	t.Parallel()
	_, _, err := connect(t.Context(), DriverGoRedis, "redis+cluster://:secret@127.0.0.1:1", redlatch.Config{})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "--driver") {
		t.Errorf("error %v", err)
	}
}

// Goal: a signal also ends a demonstration in order that has not connected yet. Method: its context has ended.
func TestADemonstrationThatEndsBeforeItBeginsSaysSo(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sound, err := Run(ctx, Settings{Lease: time.Second}, &out, "none")
	if want := "interrupted before the first process was started\n"; !sound || err != nil || out.String() != want {
		t.Errorf("sound %v, %v, %q", sound, err, out.String())
	}
}
