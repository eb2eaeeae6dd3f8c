package single_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/driver"
)

// Goal: idle connections cost the server what the package says. Method: the commands of
// ten minutes, with a connection for commands and one for subscriptions.
func TestIdleConnectionsPingOnceInACommandTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, 3*time.Second)
		listener, err := d.Listen(t.Context(), driver.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if err := listener.Subscribe(t.Context(), "channel"); err != nil {
			t.Fatal(err)
		}
		var commands atomic.Int64
		n.server.Server().SetPreHook(func(*server.Peer, string, ...string) bool {
			commands.Add(1)
			return false
		})
		time.Sleep(10 * time.Minute)
		if got := commands.Load(); got < 390 || got > 401 {
			t.Errorf("%d commands within 10 min, want one in 3 s on each of two connections", got)
		}
	})
}

// Goal: the clients of a server that comes back do not all return at the same moment.
// Method: the pauses between attempts to connect, which would be the same without jitter.
func TestAttemptsToConnectHaveJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, 3*time.Second)
		shareConnection(t, d) // so that its end is noticed before the next call
		n.fail(errDown)
		synctest.Wait()
		wantNotSent(t, d.Do(t.Context(), command("PING")).Err)
		pauses := map[time.Duration]bool{}
		last, dials := time.Now(), n.dials.Load()
		for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(time.Millisecond) {
			if now := n.dials.Load(); now != dials {
				pauses[time.Since(last)] = true
				last, dials = time.Now(), now
			}
		}
		if len(pauses) < 20 {
			t.Errorf("the pauses within 30 s are %v: no jitter", pauses)
		}
		n.recover()
	})
}
