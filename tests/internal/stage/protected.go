package stage

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/script"
)

// Protected is a story of a protected client, for which a watchdog is alive in name.
func Protected(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *Stage)) {
	t.Helper()
	cfg.Protect = true
	Story(t, cfg, func(t *testing.T, s *Stage) {
		end := watchdogInName(t, s)
		defer func() {
			end()
			for _, c := range s.Others {
				_ = c.Close(context.Background())
			}
			wantNothingLeft(t, s)
		}()
		tell(t, s)
	})
}

// watchdogInName says that a watchdog is alive, until end is called.
func watchdogInName(t *testing.T, s *Stage) (end func()) {
	alive := func(d time.Duration) {
		runner := script.NewRunner(s.Memory, time.Second)
		if _, err := runner.Run(context.WithoutCancel(t.Context()), script.WatchdogHeartbeat("w", d)); err != nil {
			t.Error(err)
		}
	}
	over := make(chan struct{})
	var sending sync.WaitGroup
	alive(10 * time.Second)
	sending.Go(func() {
		tick := time.NewTicker(4 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				alive(10 * time.Second)
			case <-over:
				alive(0)
				return
			}
		}
	})
	return func() { close(over); sending.Wait() }
}

// wantNothingLeft fails if a session or a heartbeat is left in Redis.
func wantNothingLeft(t *testing.T, s *Stage) {
	t.Helper()
	for _, key := range s.Memory.Miniredis().Keys() {
		if strings.HasPrefix(key, "redlatch:session") {
			t.Errorf("%s is left", key)
		}
	}
}
