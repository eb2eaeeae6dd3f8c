package redlatch

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver/memory"
)

func hostClient(t *testing.T, cfg Config) (*Client, *memory.Driver) {
	t.Helper()
	m, err := memory.Open(context.Background(), "")
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
// engine reports the loss first. Enter then counts a waiter inside whom nobody ever takes
// out: the process is deaf for the lock, and never hands over, for as long as the line lives.
func TestHostAALossBeforeEnterLeavesTheLineDeaf(t *testing.T) {
	for _, pause := range []time.Duration{0, 60 * time.Millisecond} {
		t.Run(pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				c, d := hostClient(t, Config{})
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
				a := c.tryTogether(ctx, tn, w.Company())
				w.Tried(time.Now().Add(4 * time.Second))
				time.Sleep(100 * time.Millisecond) // subscribed
				if err := held.Unlock(ctx); err != nil {
					t.Fatal(err)
				}
				<-w.Rung()
				for !w.Turn(time.Now()).Try {
					<-w.Rung()
				}
				a = c.tryTogether(ctx, tn, w.Company())
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

// The same from outside: short leases, many waiters, a busy machine.
func TestHostAInsideLeaksUnderLoad(t *testing.T) {
	ctx := context.Background()
	c, d := hostClient(t, Config{})
	defer d.Close()
	m := c.Mutex("job")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 * runtime.GOMAXPROCS(0) {
		wg.Go(func() { // the machine is busy
			for x := 0; ; x++ {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	end := time.Now().Add(10 * time.Second)
	for range 32 {
		wg.Go(func() {
			for time.Now().Before(end) {
				short, cancel := context.WithTimeout(ctx, 5*time.Second)
				h, err := m.Lock(short, WithLease(10*time.Millisecond))
				cancel()
				if err == nil {
					_ = h.Unlock(ctx)
				}
			}
		})
	}
	time.Sleep(time.Until(end))
	close(stop)
	wg.Wait()
	// Nobody holds or waits.
	w := c.hub.Join(m.point.channel, nil) // into the line that was used
	next := c.hub.Release(m.point.channel, nil, true)
	if next == nil {
		t.Errorf("nobody holds the lock or waits but one, who is not handed the lock over: the line believes somebody inside (losses: %d)", c.Stats().Losses)
	}
	_ = w
	_ = c.Close(ctx)
}

// ended reads the term, then the clock. A goroutine that is preempted between the two
// declares a hold lost that was renewed meanwhile.
func TestHostAASoundHoldIsDeclaredLostBetweenTwoReads(t *testing.T) {
	c, d := hostClient(t, Config{LeaseTime: 60 * time.Millisecond})
	defer d.Close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(24))
	var lies, losses atomic.Int64
	const lease = 25 * time.Millisecond
	end := time.Now().Add(20 * time.Second)
	for time.Now().Before(end) && lies.Load() == 0 {
		m := c.Mutex("job")
		tn := c.newTenure(context.Background(), &m.point, nil, request{lease: lease, fixed: true})
		tn.add(context.Background(), false, tn.want, time.Now(), lease, 0)
		done := make(chan struct{})
		var looking sync.WaitGroup
		for range 20 { // as h.Valid() and h.Err() do
			looking.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					if tn.ended() {
						return
					}
				}
			})
		}
		for time.Now().Before(end) && tn.alive() {
			tn.extend(time.Now(), lease) // as confirmed renewals do
			time.Sleep(time.Millisecond)
		}
		// A tenure that has ended takes no confirmation: this is the term as it was.
		if left := time.Until(tn.Term().Deadline()); !tn.alive() && left > 0 {
			lies.Add(1)
			t.Logf("ended, with %v left to the deadline", left)
		}
		close(done)
		looking.Wait()
		losses.Add(1)
		c.engine.Remove(&tn.Item)
	}
	if n := lies.Load(); n > 0 {
		t.Errorf("ErrLost for a hold whose confirmed deadline had not passed (%d times in %d losses)", n, losses.Load())
	} else {
		t.Logf("%d losses, all of them sound", losses.Load())
	}
	_ = c.Close(context.Background())
}

func (t *tenure) alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end == nil
}

// A shared owner's waiter is claimed, granted, and has left; its call returns after grace
// and cancels the tenure, and Close drains the gate before giveBack runs. giveBack leaves it
// to Close, and Close skips a tenure that has "ended".
func TestHostACloseSkipsAHoldWhoseTenureWasCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := hostClient(t, Config{})
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
