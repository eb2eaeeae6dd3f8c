package lock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// confirmedReentry has Redis confirm one more hold of a grant, as Grant.reenter does, line by line. What it returns takes it
// in, later.
func confirmedReentry(t *testing.T, ctx context.Context, g *Grant, opts *Options) (add func() *Hold) {
	t.Helper()
	ends := g.ends.Load()
	var request request
	g.moreRequest(&request, false, opts, "")
	result, err := g.manager.send(ctx, g.manager.runner, &request)
	if err != nil {
		t.Fatal(err)
	}
	got, err := script.ReadAcquired(result.Reply)
	if err != nil || !got.Granted {
		t.Fatal(got, err)
	}
	return func() *Hold {
		return g.add(acquisition{ctx, false, opts, result.Asked, request.lease, ends}, got.Token)
	}
}

// A re-entry is confirmed, but the end of another hold crosses it. Before Redis is told what is left, the last hold ends
// without a word to Redis. Its lock stays.
func TestARefusedReentryTakesNothingFromATicket(t *testing.T) {
	for _, how := range []string{"ticket", "detached"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, manager := inProcess(t)
				defer d.Close()
				m := manager()
				ctx, r, opts := m.WithOwner(context.Background()), m.Mutex("job"), &Options{Lease: 30 * time.Second, Wait: Forever}
				outer, inner := redistest.Must(r.Acquire(ctx, opts)), redistest.Must(r.Acquire(ctx, opts))
				g := outer.grant()
				add := confirmedReentry(t, ctx, g, opts)
				if err := inner.Unlock(ctx); err != nil { // meanwhile
					t.Fatal(err)
				}
				if add() != nil || g.Expire() || g.released() {
					t.Fatal("it is a hold, or the grant has ended")
				}
				if how == "detached" { // here
					outer.Detach()
				} else if _, err := outer.Ticket(); err != nil {
					t.Fatal(err)
				}
				m.compensate(g)
				time.Sleep(time.Second)
				if !d.Miniredis().Exists("job") {
					t.Error("the lock was freed")
				}
				_ = m.Close(context.Background())
			})
		})
	}
}

// The engine finds that a grant is over, and has not told it yet. A re-entry is confirmed meanwhile.
func TestAReentryBetweenAnEndAndItsLossLeavesNothing(t *testing.T) {
	for _, limit := range []time.Duration{0, 20 * time.Second} {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, manager := inProcess(t)
				defer d.Close()
				m := manager()
				ctx, r := m.WithOwner(context.Background()), m.Mutex("job")
				outer, err := r.Acquire(ctx, &Options{Lease: 30 * time.Second, Fixed: limit == 0, Wait: Forever, MaxHold: limit})
				if err != nil {
					t.Fatal(err)
				}
				g := outer.grant()
				add := confirmedReentry(t, ctx, g, &Options{Lease: time.Hour, Fixed: true, Wait: Forever})
				m.engine.Remove(&g.Item) // as Engine.collect
				if add() == nil {
					t.Fatal("no hold")
				}
				g.Lost(renew.ErrExpired)
				time.Sleep(time.Second)
				if left := d.Miniredis().TTL("job"); left > 0 {
					t.Errorf("nobody holds the lock, and it stays for %v", left)
				}
				_ = m.Close(context.Background())
			})
		})
	}
}

// A release leaves write holds, and is under way. The last of these is detached, and a re-entry tells Redis that there is none. The
// release is refused then, and the read holds go on.
func TestAReentryThatEndsTheWriteSideOvertakesARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m := manager()
		read, write := m.RWMutex("job")
		ctx, opts := m.WithOwner(context.Background()), &Options{Lease: time.Hour, Fixed: true, Wait: Forever}
		var holds [3]*Hold
		var release ending
		for i, r := range []Ref{write, read, read} {
			h, err := r.Acquire(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			if holds[i] = h; i == 1 {
				g := h.grant()
				g.mu.Lock()
				release = g.ending()
				g.mu.Unlock()
				holds[0].Detach()
			}
		}
		if err := m.settle(ctx, &release); err != nil || holds[2].Err() != nil {
			t.Error(err, holds[2].Err())
		}
		_ = m.Close(context.Background())
	})
}
