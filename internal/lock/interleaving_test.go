package lock

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver/memory"
)

// inProcess makes managers on one embedded server, with the default settings.
func inProcess(t *testing.T) (*memory.Driver, func() *Manager) {
	t.Helper()
	d, err := memory.Open(context.Background(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d, func() *Manager {
		return New(Settings{
			Driver: d, Lease: 30 * time.Second, RenewInterval: 10 * time.Second, FairWait: 5 * time.Minute,
			PollCap: 5 * time.Second, CommandTimeout: 3 * time.Second, ReleaseTimeout: 3 * time.Second,
			Logger: slog.New(slog.DiscardHandler),
		})
	}
}

// A waiter is granted the lock; between the lines "o.hold != nil" and "w.Enter" of
// attempt.wait its goroutine (or the process) pauses for longer than the lease, so the
// engine reports the loss first. The queue must not count the waiter as inside for ever.
func TestALossBeforeAWaiterEntersLeavesItsLineHearing(t *testing.T) {
	for _, pause := range []time.Duration{0, 60 * time.Millisecond} {
		t.Run(pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				d, manager := inProcess(t)
				defer d.Close()
				m, other := manager(), manager()
				mine, its := m.Mutex("job"), other.Mutex("job")
				renewed := &Options{Lease: 30 * time.Second, Wait: Forever}
				held, err := its.Acquire(ctx, renewed)
				if err != nil {
					t.Fatal(err)
				}
				// What attempt.wait does, line by line.
				a := &m.newGrant(&mine, nil, attempt{ctx: ctx, opts: &Options{Lease: 50 * time.Millisecond, Fixed: true, Wait: Forever}}).attempt
				w := m.queues.Join(a.queueKey(), a, a.ref.read)
				if !w.Next(time.Now()).Try {
					t.Fatal("no step")
				}
				a.askWith(ctx, w.Batch())
				w.Tried(time.Now().Add(4 * time.Second))
				time.Sleep(100 * time.Millisecond) // subscribed
				if err := held.Unlock(ctx); err != nil {
					t.Fatal(err)
				}
				<-w.Woken()
				for !w.Next(time.Now()).Try {
					<-w.Woken()
				}
				got := a.askWith(ctx, w.Batch())
				if got.hold == nil {
					t.Fatal("not granted")
				}
				time.Sleep(pause) // here
				w.Enter(a.nextLook(false))
				_ = got.hold.Unlock(ctx) // nil, or ErrLost after the pause

				for round := range 3 {
					held, err := its.Acquire(ctx, renewed)
					if err != nil {
						t.Fatal(err)
					}
					got := make(chan *Hold, 1)
					go func() {
						h, _ := mine.Acquire(ctx, renewed)
						got <- h
					}()
					time.Sleep(200 * time.Millisecond)
					if err := held.Unlock(ctx); err != nil {
						t.Fatal(err)
					}
					free := time.Now()
					h := <-got
					if took := time.Since(free); took > 100*time.Millisecond {
						t.Errorf("round %d: the other process released and published, this one took %v to notice", round, took)
					}
					_ = h.Unlock(ctx)
				}
				_ = m.Close(ctx)
				_ = other.Close(ctx)
			})
		})
	}
}

// A shared owner's waiter is claimed, granted, and has left; its call returns after Grace
// and ends the attempt, and Close lets the last operation leave before releaseLate runs.
func TestCloseReleasesAHoldWhoseWaiterHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m := manager()
		ctx := m.WithOwner(context.Background())
		r := m.Mutex("job")
		shared := m.ownerOf(ctx)
		g, _ := shared.grant(&r, func() *Grant {
			return m.newGrant(&r, shared, attempt{ctx: ctx, opts: &Options{Lease: 30 * time.Second, Wait: Forever}})
		})
		g.attempt.released = make(chan bool, 1) // endWait
		o := g.attempt.ask(ctx)                 // the releasing goroutine: complete, which finds that the waiter left
		if o.hold == nil {
			t.Fatal("not granted")
		}
		g.close(errNotGranted)  // endWait
		empty := m.Life.Close() // Close
		<-empty
		g.attempt.abandon(o) // late
		m.shut(empty)
		if d.Miniredis().Exists("job") {
			t.Errorf("Close returned %v on a server that answers, and the lock stands for %v", m.closeErr, d.Miniredis().TTL("job"))
		}
	})
}

// Goal: an owner has a grant in its table from the first request to the end of the last hold, however
// that comes about, and the renewal engine has it from the first hold on.
func TestTheBooksFollowTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m, other := manager(), manager()
		mine, its := m.Mutex("job"), other.Mutex("job")
		opts := &Options{Lease: 30 * time.Second, Wait: Forever}
		ctx := m.WithOwner(context.Background())
		owner := m.ownerOf(ctx)
		want := func(when string, asked, held int) {
			t.Helper()
			synctest.Wait()
			if len(owner.grants) != asked || m.engine.Len() != held {
				t.Errorf("%s: the owner has %d grants, the engine %d", when, len(owner.grants), m.engine.Len())
			}
		}
		for how, end := range map[string]func(h *Hold){
			"unlocked": func(h *Hold) { _ = h.Unlock(ctx) },
			"detached": func(h *Hold) { h.Detach() },
			"gone":     func(h *Hold) { d.Miniredis().FlushAll(); _ = h.Unlock(ctx) },
			"lost":     func(h *Hold) { h.grant().Lost(errGoneAtRelease) },
		} {
			outer, err := mine.Acquire(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			inner, err := mine.Acquire(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			_ = inner.Unlock(ctx)
			want("held", 1, 1)
			end(outer)
			want(how, 0, 0)
			d.Miniredis().FlushAll()
			h, err := outer.grant().reenter(ctx, ctx, &mine, opts) // which saw the grant before its end
			if h != nil || err != nil || d.Miniredis().Exists("job") {
				t.Errorf("a re-entry of what was %s: %v, and an owner that nobody uses holds the lock: %t", how, err, d.Miniredis().Exists("job"))
			}
		}
		held, err := its.Acquire(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		limited, cancel := context.WithCancel(ctx)
		waited := make(chan error, 1)
		go func() { _, err := mine.Acquire(limited, opts); waited <- err }()
		want("asked for", 1, 0)
		cancel()
		<-waited
		want("cancelled", 0, 0)
		_ = held.Unlock(context.Background())
		if _, err := mine.Acquire(ctx, opts); err != nil {
			t.Fatal(err)
		}
		_ = m.Close(context.Background())
		want("closed", 0, 0)
		_ = other.Close(context.Background())
	})
}
