//go:build interop

package interop_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Node-redisson is a client for JavaScript that follows Redisson's mutex. Its owners are two
// UUIDs, where Redisson has a UUID and a number.
func TestWithNodeRedisson(t *testing.T) {
	r := rig{
		version: "node-redisson", kinds: []string{"mutex"}, otherwise: "half a brace",
		start: startNode, theirs: startNode(t), latch: here{newLatches()},
	}
	for _, c := range []trial{
		{"every step leaves the same state", sameState},
		{"who waits enters at the release", entersAtTheRelease},
		{"who waits enters without a message", entersWithoutAMessage},
		{"force unlock lets the other in", forced},
		{"status shows its owner", showsNode},
		{"each side gets a share", shares},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, r) })
	}
	t.Run("for long", func(t *testing.T) {
		for _, c := range []trial{
			{"a lease that ends lets the other in", leaseEnds},
			{"both renew side by side", renewsSideBySide},
			{"random histories", histories},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, r) })
		}
	})
}

// Goal: where the two derive different channels from a name, a waiter hears no message, and
// yet enters: ours at the poll cap of 5 s at the latest, theirs at the end of the TTL that it
// was told. Method: a brace inside of the name.
func entersWithoutAMessage(t *testing.T, r rig) {
	const watchdog = 6 * time.Second
	r.bothWays(t, func(t *testing.T, one, other peer) {
		t.Parallel()
		h := newClient(t, one, settings{watchdog: watchdog})
		w := newClient(t, other, settings{watchdog: watchdog})
		name := "a{b}" + redistest.Name(t)
		h.must(t, lock("mutex", name))
		wanted := lock("mutex", name)
		got := w.start(wanted)
		w.parked(t)
		released := h.must(t, unlock("mutex", name))
		entered := w.await(t, wanted, got)
		took := entered.at().Sub(released.from())
		t.Logf("%s releases, %s enters after %v", one.language(), other.language(), took)
		if !entered.OK || took > watchdog+3*time.Second {
			t.Errorf("%v: %+v after %v", w, entered, took)
		}
		w.must(t, unlock("mutex", name))
	})
}

// Goal: Status names their owner, its count and its TTL, and ForceUnlock takes the lock from
// it, for the name begins with a UUID.
func showsNode(t *testing.T, r rig) {
	node := newClient(t, r.theirs, settings{watchdog: 30 * time.Second})
	client := redistest.Must(redlatch.Open(t.Context(), redistest.Shared(t).URL(), redlatch.Config{}))
	t.Cleanup(func() { _ = client.Close(context.WithoutCancel(t.Context())) })
	name := redistest.Name(t)
	m := client.Mutex(name)
	owner := node.must(t, lock("mutex", name)).Owner
	node.must(t, lock("mutex", name))
	if parts := strings.Split(owner, ":"); len(parts) != 2 || len(parts[0]) != 36 || len(parts[1]) != 36 {
		t.Fatalf("the owner %q is not two UUIDs", owner)
	}
	status := redistest.Must(m.Status(t.Context()))
	if len(status.Holders) != 1 || status.Mode != "exclusive" {
		t.Fatalf("Status is %+v, want one exclusive holder", status)
	}
	if h := status.Holders[0]; h.Owner != owner || h.Count != 2 || h.TTL <= 0 || h.TTL > 30*time.Second {
		t.Errorf("the holder is %+v, want %s with a count of 2 and a TTL up to 30 s", h, owner)
	}
	if ok, err := m.ForceUnlockIf(t.Context(), client.ID()+":1"); ok || err != nil {
		t.Errorf("forcing another owner is %v, %v", ok, err)
	}
	if ok, err := m.ForceUnlock(t.Context()); !ok || err != nil {
		t.Errorf("forcing is %v, %v", ok, err)
	}
	node.lost(t, unlock("mutex", name))
	empty(t, name)
}
