package redlatch

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver/memory"
)

func inProcess(t *testing.T, cfg Config) (*Client, *memory.Driver) {
	t.Helper()
	m, err := memory.Open(context.Background(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	c, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

// A waiter is granted the lock; between the lines "a.hold != nil" and "w.Enter" of
// Client.wait its goroutine (or the process) pauses for longer than the lease, so the
// engine reports the loss first. The line must not count the waiter as inside for ever.
func TestALossBeforeAWaiterEntersLeavesItsLineHearing(t *testing.T) {
	for _, pause := range []time.Duration{0, 60 * time.Millisecond} {
		t.Run(pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				c, d := inProcess(t, Config{})
				defer d.Close()
				other, err := New(d, Config{Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				m, o := c.Mutex("job"), other.Mutex("job")
				held, err := o.Lock(ctx)
				if err != nil {
					t.Fatal(err)
				}
				// What Client.wait does, line by line.
				want, err := c.request(forever, []LockOption{WithLease(50 * time.Millisecond)})
				if err != nil {
					t.Fatal(err)
				}
				tn := c.newTenure(ctx, &m.point, nil, want)
				w := c.join(tn)
				tn.waiter = w
				if !w.Turn(time.Now()).Try {
					t.Fatal("no turn")
				}
				a := c.tryTogether(ctx, tn, w.Batch())
				w.Tried(time.Now().Add(4 * time.Second))
				time.Sleep(100 * time.Millisecond) // subscribed
				if err := held.Unlock(ctx); err != nil {
					t.Fatal(err)
				}
				<-w.Woken()
				for !w.Turn(time.Now()).Try {
					<-w.Woken()
				}
				a = c.tryTogether(ctx, tn, w.Batch())
				if a.hold == nil {
					t.Fatal("not granted")
				}
				time.Sleep(pause) // here
				w.Enter(tn.next())
				_ = a.hold.Unlock(ctx) // nil, or ErrLost after the pause

				for round := range 3 {
					held, err := o.Lock(ctx)
					if err != nil {
						t.Fatal(err)
					}
					got := make(chan *Hold, 1)
					go func() {
						h, _ := m.Lock(ctx)
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
				_ = c.Close(ctx)
				_ = other.Close(ctx)
			})
		})
	}
}

// A shared owner's waiter is claimed, granted, and has left; its call returns after grace
// and cancels the tenure, and Close drains the gate before giveBack runs.
func TestCloseReleasesAHoldWhoseWaiterHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := inProcess(t, Config{})
		defer d.Close()
		ctx := c.WithOwner(context.Background())
		m := c.Mutex("job")
		want, _ := c.request(forever, nil)
		tn, _ := c.ownerOf(ctx).at(&m.point, func() *tenure { return c.newTenure(ctx, &m.point, c.ownerOf(ctx), want) })
		tn.returned = make(chan bool, 1) // endWait
		a := c.try(ctx, tn)              // the releasing goroutine: settle, which finds that the waiter left
		if a.hold == nil {
			t.Fatal("not granted")
		}
		tn.cancel() // acquireShared, when endWait returned after its grace
		c.end()     // Close
		empty := c.gate.close()
		<-empty
		c.giveBack(tn, a) // late
		c.shut(empty)
		if d.Miniredis().Exists("job") {
			t.Errorf("Close returned %v on a server that answers, and the lock stands for %v", c.closeErr, d.Miniredis().TTL("job"))
		}
	})
}
