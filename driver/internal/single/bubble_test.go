package single_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
)

// wantBetween checks a time of the bubble's exact clock.
func wantBetween(t *testing.T, begin time.Time, least, most time.Duration, what string) {
	t.Helper()
	if took := time.Since(begin); took < least || took > most {
		t.Errorf("%s took %v, want between %v and %v", what, took, least, most)
	}
}

// TestFrozenServerEndsEverythingInTime freezes the server at many moments of
// rueidis' rhythm of PINGs, on which the bound rests, right after a reply.
func TestFrozenServerEndsEverythingInTime(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	for _, verb := range verbs {
		for _, shared := range []bool{false, true} {
			for phase := time.Duration(0); phase < timeout; phase += timeout / 25 {
				synctest.Test(t, func(t *testing.T) {
					what := fmt.Sprintf("%s, shared=%v, phase %v", verb.name, shared, phase)
					d, n := openInBubble(t, timeout)
					listener, err := d.Listen(t.Context(), driver.Events{})
					if err != nil {
						t.Fatal(err)
					}
					if shared {
						shareConnection(t, d)
					}
					time.Sleep(phase)
					do(t, d, "PING")
					n.freeze()

					begin := time.Now()
					err = verb.call(d, context.Background(), command("PING"))
					wantUnknown(t, err)
					wantNoContextError(t, err)
					wantBetween(t, begin, timeout/3, timeout, what)

					again := time.Now()
					err = verb.call(d, context.Background(), command("PING"))
					wantNotSent(t, err)
					wantNoContextError(t, err)
					wantBetween(t, again, timeout, timeout, what+", again")

					<-listener.Done()
					wantBetween(t, begin, 0, timeout*5/2, what+": listener")
					n.thaw()
					do(t, d, "PING")
				})
			}
		}
	}
}

// TestFrozenServerEndsListeners likewise, also before they subscribe.
func TestFrozenServerEndsListeners(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	for _, subscribed := range []bool{false, true} {
		for phase := time.Duration(0); phase < timeout; phase += timeout / 25 {
			synctest.Test(t, func(t *testing.T) {
				d, n := openInBubble(t, timeout)
				listener, err := d.Listen(t.Context(), driver.Events{})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(phase)
				if subscribed {
					if err := listener.Subscribe(t.Context(), "channel"); err != nil {
						t.Fatal(err)
					}
				}
				n.freeze()
				begin := time.Now()
				<-listener.Done()
				wantBetween(t, begin, 0, timeout*5/2, fmt.Sprintf("subscribed=%v, phase %v", subscribed, phase))
			})
		}
	}
}

// TestContextsEndEverythingAtOnce: each call is made to a frozen server, and
// ends exactly with its context.
func TestContextsEndEverythingAtOnce(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, time.Minute)
		listener, err := d.Listen(t.Context(), driver.Events{})
		if err != nil {
			t.Fatal(err)
		}
		n.freeze()
		for _, c := range []struct {
			name string
			call func(context.Context) error
			sent bool
		}{
			{"Do", func(ctx context.Context) error { return d.Do(ctx, command("PING")).Err }, true},
			{"Pipeline", func(ctx context.Context) error { return d.Pipeline(ctx, command("PING"))[0].Err }, true},
			{"DedicatedPipeline", func(ctx context.Context) error { return d.DedicatedPipeline(ctx, command("PING"))[0].Err }, false},
			{"Subscribe", func(ctx context.Context) error { return listener.Subscribe(ctx, "channel") }, true},
			{"Unsubscribe", func(ctx context.Context) error { return listener.Unsubscribe(ctx, "channel") }, true},
			{"Listen", func(ctx context.Context) error { _, err := d.Listen(ctx, driver.Events{}); return err }, false},
			{"Open", func(ctx context.Context) error {
				_, err := single.Open(ctx, single.Options{Address: "bubble", Dial: n.dial})
				return err
			}, true},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			begin := time.Now()
			err := c.call(ctx)
			wantBetween(t, begin, limit, limit, c.name)
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrNotSent) == c.sent {
				t.Errorf("%s: error %v", c.name, err)
			}
		}
	})
}

// TestCloseWaitsForNoServer: with calls under way to a frozen server, and again
// in the outage that follows.
func TestCloseWaitsForNoServer(t *testing.T) {
	t.Parallel()
	for _, outage := range []bool{false, true} {
		for _, shared := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d, n := openInBubble(t, time.Minute)
				if _, err := d.Listen(t.Context(), driver.Events{}); err != nil {
					t.Fatal(err)
				}
				if shared {
					shareConnection(t, d)
				}
				n.freeze()
				if outage {
					time.Sleep(time.Hour)
					d.Do(context.Background(), command("PING"))
				}
				var calls sync.WaitGroup
				calls.Go(func() {
					if reply := d.Do(context.Background(), command("PING")); reply.Err == nil {
						t.Error("Do succeeded")
					}
				})
				calls.Go(func() {
					_, err := d.Listen(context.Background(), driver.Events{})
					wantNotSent(t, err)
					wantNoContextError(t, err)
				})
				synctest.Wait()
				begin := time.Now()
				d.Close()
				calls.Wait()
				wantBetween(t, begin, 0, 0, fmt.Sprintf("Close, outage=%v, shared=%v", outage, shared))
			})
		}
	}
}

// TestNobodyWaitsForAnothersDial: while a connection is being made to a server
// that accepts and is silent, every caller waits for exactly as long as its
// own bound, and gets its own reason.
func TestNobodyWaitsForAnothersDial(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, timeout)
		shareConnection(t, d) // so that its end is noticed before the next call
		n.freeze()
		n.fail(nil)
		synctest.Wait()
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				limit := time.Duration(1+i) * 20 * time.Millisecond
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				begin := time.Now()
				err := verbs[i%2].call(d, ctx, command("PING"))
				wantNotSent(t, err)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want the context's", err)
				}
				wantBetween(t, begin, limit, limit, "a caller with a deadline")
			})
			callers.Go(func() {
				begin := time.Now()
				err := verbs[i%2].call(d, context.Background(), command("PING"))
				wantNotSent(t, err)
				wantNoContextError(t, err)
				wantBetween(t, begin, timeout, timeout, "a caller without")
			})
		}
		callers.Wait()
		n.thaw()
		do(t, d, "PING")
	})
}

// TestSilentServerEndsConnecting within the command timeout.
func TestSilentServerEndsConnecting(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, timeout)
		n.freeze()
		begin := time.Now()
		_, err := d.Listen(context.Background(), driver.Events{})
		wantNotSent(t, err)
		wantNoContextError(t, err)
		wantBetween(t, begin, timeout/2, timeout, "Listen")

		begin = time.Now()
		_, err = single.Open(context.Background(), single.Options{Address: "bubble", Dial: n.dial, CommandTimeout: timeout})
		if err == nil {
			t.Error("Open succeeded")
		}
		wantNoContextError(t, err)
		wantBetween(t, begin, timeout/2, timeout, "Open")
	})
}

// TestOutageKeepsToItsTimes: exactly, since the clock of a bubble is exact.
func TestOutageKeepsToItsTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, 3*time.Second)
		shareConnection(t, d) // so that its end is noticed before the next call
		time.Sleep(time.Minute)
		n.fail(errDown)
		synctest.Wait()
		n.dials.Store(0)

		begin := time.Now()
		err := d.Do(context.Background(), command("PING")).Err
		wantNotSent(t, err)
		if took := time.Since(begin); !errors.Is(err, errDown) || took != 3*time.Second {
			t.Errorf("%v after %v, want %v after 3s", err, took, errDown)
		}
		// At 0, 10, 30, 70, 150, 310, 630, 1270, 2270 ms at the latest, and jitter halves
		// the pauses at most.
		if got := n.dials.Load(); got < 9 || got > 12 {
			t.Errorf("%d attempts to connect within 3s, want 9 to 12", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begin = time.Now()
		err = d.Do(ctx, command("PING")).Err
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 100*time.Millisecond {
			t.Errorf("%v after %v, want the context's after 100ms", err, took)
		}

		n.recover()
		begin = time.Now()
		do(t, d, "PING")
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v to find the server again", took)
		}
		n.dials.Store(0)
		time.Sleep(time.Hour)
		if got := n.dials.Load(); got != 0 {
			t.Errorf("%d dials without need", got)
		}
	})
}

// Goal: a driver that may begin without its server is like one that has lost it. Method: there is no network when it is
// opened, and then there is one.
func TestADriverMayBeginWithoutItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		n.reason = errDown
		var told []error
		tolerant := true
		options := single.Options{Address: "bubble", Dial: n.dial, CommandTimeout: 3 * time.Second, Tolerate: func(err error) bool {
			told = append(told, err)
			return tolerant
		}}
		d := open(t, options)
		for range 2 {
			begin := time.Now()
			err := d.Do(context.Background(), command("PING")).Err
			wantNotSent(t, err)
			wantBetween(t, begin, 3*time.Second, 3*time.Second, "a call without a server")
			if !errors.Is(err, driver.ErrNoConnection) || !errors.Is(err, errDown) {
				t.Errorf("the call failed with %v", err)
			}
		}
		n.recover()
		begin := time.Now()
		_, before := d.RunID()
		do(t, d, "PING")
		wantBetween(t, begin, 0, time.Second, "the way to the server")
		if _, after := d.RunID(); before != 0 || after != 1 {
			t.Errorf("%d servers before the first, and then %d", before, after)
		}

		n.fail(errDown)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, ended := single.Open(over, options)
		tolerant = false
		_, refused := single.Open(t.Context(), options)
		if !errors.Is(ended, context.Canceled) || !errors.Is(refused, errDown) || len(told) != 2 {
			t.Errorf("Open was told of %v, and failed with %v and %v", told, ended, refused)
		}
	})
}

// TestOthersContextErrorsStayTheirs: a dial may fail because some context of
// its own has ended, or claim so, as timeouts of the network do.
func TestOthersContextErrorsStayTheirs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, time.Second)
		for _, reason := range []error{context.Canceled, os.ErrDeadlineExceeded, context.DeadlineExceeded} {
			shareConnection(t, d) // so that its end is noticed before the next call
			n.fail(fmt.Errorf("proxy: %w", reason))
			synctest.Wait()
			err := d.Do(context.Background(), command("PING")).Err
			wantNotSent(t, err)
			wantNoContextError(t, err)
			if !strings.Contains(err.Error(), "proxy: "+reason.Error()) {
				t.Errorf("error %v does not say why there is no connection", err)
			}
			n.recover()
			do(t, d, "PING")
		}
	})
}

// TestServerThatHangsUpIsNotStormed: connections that break as soon as they
// are made do not make the driver spin.
func TestServerThatHangsUpIsNotStormed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, 3*time.Second)
		n.dials.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for ctx.Err() == nil {
			(*n.conn.Load()).Close()
			synctest.Wait()
			d.Do(ctx, command("PING"))
		}
		if got := n.dials.Load(); got > 30 { // the pauses are random; without any it would be thousands
			t.Errorf("%d connections within a second, want a few, with growing pauses", got)
		}
	})
}

func TestListenerNoticesTheEndAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, 0)
		listener, err := d.Listen(t.Context(), driver.Events{})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		n.fail(errDown) // breaks the latest connection, the listener's
		<-listener.Done()
		n.recover()
		if took := time.Since(begin); took != 0 {
			t.Errorf("the end of the connection was noticed after %v", took)
		}
		do(t, d, "PING")
	})
}
