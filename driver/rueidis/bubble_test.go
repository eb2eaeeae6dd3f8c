package rueidis_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// network is a way to an in-memory server that a test can break.
type network struct {
	server *miniredis.Miniredis
	down   atomic.Bool
	dials  atomic.Int64
	conn   atomic.Pointer[net.Conn] // the latest
}

var errDown = errors.New("network down")

func (n *network) dial(context.Context, string) (net.Conn, error) {
	n.dials.Add(1)
	if n.down.Load() {
		return nil, errDown
	}
	conn, err := n.server.Dial()
	n.conn.Store(&conn)
	return conn, err
}

// fail breaks the connection and refuses others.
func (n *network) fail() {
	n.down.Store(true)
	(*n.conn.Load()).Close()
}

// openInBubble connects to an in-memory server of the test's own.
func openInBubble(t *testing.T, timeout time.Duration) (*rueidis.Driver, *network) {
	t.Helper()
	n := &network{server: miniredis.NewMiniRedis()}
	t.Cleanup(n.server.Close)
	d := open(t, rueidis.Options{Address: "bubble", Dial: n.dial, Unbuffered: true, CommandTimeout: timeout})
	return d, n
}

// TestOutageKeepsToItsTimes: exactly, since the clock of a bubble is exact.
func TestOutageKeepsToItsTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, 3*time.Second)
		time.Sleep(time.Minute)
		n.fail()
		synctest.Wait()
		n.dials.Store(0)

		begin := time.Now()
		err := d.Do(context.Background(), command("PING")).Err
		wantNotSent(t, err)
		if took := time.Since(begin); !errors.Is(err, errDown) || took != 3*time.Second {
			t.Errorf("%v after %v, want %v after 3s", err, took, errDown)
		}
		// At 0, 10, 30, 70, 150, 310, 630 ms, and then every half second.
		if got := n.dials.Load(); got != 11 {
			t.Errorf("%d attempts to connect within 3s, want 11", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begin = time.Now()
		err = d.Do(ctx, command("PING")).Err
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != 100*time.Millisecond {
			t.Errorf("%v after %v, want the context's after 100ms", err, took)
		}

		n.down.Store(false)
		begin = time.Now()
		do(t, d, "PING")
		if took := time.Since(begin); took > 500*time.Millisecond {
			t.Errorf("it took %v to find the server again", took)
		}
		n.dials.Store(0)
		time.Sleep(time.Hour)
		if got := n.dials.Load(); got != 0 {
			t.Errorf("%d dials without need", got)
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
		if got := n.dials.Load(); got > 101 {
			t.Errorf("%d connections within a second, want one in 10ms at most", got)
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
		n.fail() // breaks the latest connection, the listener's
		<-listener.Done()
		if took := time.Since(begin); took != 0 {
			t.Errorf("the end of the connection was noticed after %v", took)
		}
		do(t, d, "PING")
	})
}
