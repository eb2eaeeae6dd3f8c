//go:build interop

package interop_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a note, a recall and a ticket are no news to the other library. It waits on, enters at the release, and keeps what
// it is asked for.
func standsBeside(t *testing.T, r rig) {
	for ours, theirs := range map[string]string{"mutex": "mutex", "fair": "fair", "write": "read", "read": "write"} {
		t.Run(ours, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			name := redistest.Name(t)
			client := must(redlatch.Open(ctx, redistest.Shared(t).URL(), redlatch.Config{LeaseTime: renewing}))(t)
			t.Cleanup(func() { _ = client.Close(context.WithoutCancel(ctx)) })
			var l interface {
				redlatch.Lock
				Recall(ctx context.Context, owner, reason string) (bool, error)
			} = client.Mutex(name)
			take := l.Lock
			switch ours {
			case "fair":
				l = client.FairMutex(name)
				take = l.Lock
			case "write", "read":
				rw := client.RWMutex(name)
				l, take = rw, rw.Lock
				if ours == "read" {
					take = rw.RLock
				}
			}
			h := must(take(ctx, redlatch.WithNote("deploy 4711")))(t)
			w := newClient(t, r.theirs, settings{watchdog: renewing})
			wanted := lock(theirs, name)
			got := w.start(wanted)
			w.parked(t)
			if !must(l.Recall(ctx, h.Owner(), "drain"))(t) {
				t.Fatal("the holder was not asked")
			}
			select {
			case <-h.Recalled():
			case <-ctx.Done():
				t.Fatal("the holder does not learn of it")
			}
			h = must(client.Attach(ctx, must(h.Ticket())(t)))(t)
			time.Sleep(renewing / 2) // a renewal
			if err := h.Err(); err != nil {
				t.Fatal(err)
			}
			released := time.Now()
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
			entered := w.await(t, wanted, got)
			if took := entered.at().Sub(released); !entered.OK || took < 0 || took > 5*time.Second {
				t.Fatalf("%v entered %v after the release: %+v", w, took, entered)
			}
			status := must(l.(interface {
				Status(ctx context.Context) (redlatch.Status, error)
			}).Status(ctx))(t)
			if !must(l.Recall(ctx, status.Holders[0].Owner, "drain"))(t) {
				t.Error("the other library was not asked")
			}
			w.must(t, unlock(theirs, name))
		})
	}
}

// must is the value of a call that may not fail.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
