package waitqueue_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

func TestStopEndsTheConnectionAndIsIdempotent(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 1)[0]
		h.Stop()
		if s.connections() != 0 || s.everClosed != 1 {
			t.Errorf("%d connections are open after Stop", s.connections())
		}
		h.Stop()
		// Whoever comes late is not harmed, and starts nothing.
		late := h.Join(channel, 2, false)
		w.Leave()
		tried(t, late, far())
		h.Released(channel, false, 0, 0)
		tried(t, late, far())
		late.Leave()
		time.Sleep(time.Minute)
		if n := len(s.since(time.Time{})); n != 1 {
			t.Errorf("%d connections, one of them before Stop", n)
		}
	})
}

func TestStopBeforeAnythingHappened(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		h.Stop()
		w := h.Join(channel, 1, false)
		tried(t, w, far())
		time.Sleep(time.Minute)
		if n := len(s.since(time.Time{})); n != 0 {
			t.Errorf("%d connections after Stop", n)
		}
	})
}

func TestStopEndsAnAttemptToConnectAndABackOff(t *testing.T) {
	t.Parallel()
	for what, listen := range map[string]waitqueue.Listen{
		"connecting": func(ctx context.Context, _ driver.Events) (driver.Listener, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"backing off": func(context.Context, driver.Events) (driver.Listener, error) { return nil, errDown },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := waitqueue.NewHub(listen, slog.New(slog.DiscardHandler))
				tried(t, h.Join(channel, 1, false), far())
				time.Sleep(5 * time.Second)
				began := time.Now()
				h.Stop()
				if d := time.Since(began); d > 0 {
					t.Errorf("Stop took %v", d)
				}
			})
		})
	}
}
