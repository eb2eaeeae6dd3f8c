package faults_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: ReleaseTimeout bounds Unlock, and Detach asks nobody. Method: a re-entry of the owner is
// never answered.
func TestAReentryThatHangsHoldsUpTheEndOfAHoldForABoundedTime(t *testing.T) {
	for what, end := range map[string]struct {
		of   func(h *redlatch.Hold)
		most time.Duration
	}{
		"Unlock": {func(h *redlatch.Hold) { _ = h.Unlock(context.Background()) }, 3*time.Second + 250*time.Millisecond},
		"Detach": {func(h *redlatch.Hold) { h.Detach() }, 0},
	} {
		stage.Story(t, redlatch.Config{CommandTimeout: time.Minute}, func(t *testing.T, s *stage.Stage) {
			net, m := s.Tap(), s.Client.Mutex("job")
			ctx := s.Client.WithOwner(s.Limited())
			h := check.Must(m.Lock(ctx))
			net.Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
				time.Sleep(200 * time.Millisecond)
				return stage.FailAll(commands, stage.ErrCut)
			})
			defer net.Set(nil)
			go func() { _, _ = m.Lock(ctx) }()
			synctest.Wait()
			began := time.Now()
			end.of(h)
			check.Within(t, what, time.Since(began), 0, end.most)
		})
	}
}
