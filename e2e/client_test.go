package e2e

import (
	"context"
	"log/slog"
	"testing"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory"
)

// clientOf opens a client for the time of a test.
func clientOf(t *testing.T, url string) *redlatch.Client {
	t.Helper()
	return clientWith(t, url, redlatch.Config{})
}

// holding opens a client that holds a mutex.
func holding(t *testing.T, name string) (*redlatch.Client, *redlatch.Hold) {
	t.Helper()
	client := clientOf(t, "memory://")
	hold, err := client.Mutex(name).TryLock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return client, hold
}

func clientWith(t *testing.T, url string, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := redlatch.Open(t.Context(), url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}
