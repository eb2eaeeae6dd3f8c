package single_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

func refusedWith(err error, code string) bool {
	var refused *driver.ServerError
	return errors.As(err, &refused) && refused.Code() == code
}

// Goal: a server that was demoted behind an unchanged address is left for its successor,
// and no outcome becomes unknown by that. Method: the address is a proxy, whose target is
// switched under load; the old server lives, and no connection to it breaks.
func TestADemotedServerIsLeft(t *testing.T) {
	t.Parallel()
	old, successor := redistest.Start(t), redistest.Start(t)
	front := redistest.NewProxy(t, old.Addr())
	d := open(t, single.Options{Address: front.Addr()})
	listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	dedicated(t, d, "INCR", "dedicated") // and is idle
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	defer callers.Wait()
	defer cancel()
	for range 20 {
		callers.Go(func() {
			for ctx.Err() == nil {
				err := d.Do(ctx, command("INCR", "stream")).Err
				if err != nil && ctx.Err() == nil && !refusedWith(err, "READONLY") && !errors.Is(err, driver.ErrNotSent) {
					t.Errorf("error %v, want READONLY or one of a command that was not sent", err)
				}
			}
		})
	}
	redistest.Eventually(t, soon, func() bool { return old.CLI(t, "GET", "stream") != nil }, "commands are carried out")

	old.CLI(t, "REPLICAOF", "127.0.0.1", "1") // nobody: it has nothing to copy
	front.Redirect(successor.Addr())
	redistest.Eventually(t, soon, func() bool { return successor.CLI(t, "GET", "stream") != nil }, "the successor is written to")
	dedicated(t, d, "INCR", "dedicated")
	drivercheck.Within(t, listener.Done(), "the end of the listener on the demoted server")
}

func TestAScriptsRefusalIsRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"READONLY You can't write against a read only replica.":                                               true,
		"READONLY You can't write against a read only replica. script: 25a7, on @user_script:1.":              true,
		"ERR Error running script (call to f_25a7): @user_script:1: -READONLY You can't write against a read": true,
		"ERR Error running script (call to f_25a7): @user_script:1: -WRONGTYPE of the key ': -READONLY'":      false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                   false,
	} {
		if single.IsReadOnly(&driver.ServerError{Message: text}) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// Goal: while the address leads to a replica still, connections are made again, but not
// with each refusal, and the pauses are of different lengths.
func TestARefusingServerIsNotStormed(t *testing.T) {
	t.Parallel()
	for _, send := range []func(*single.Driver) driver.Reply{
		func(d *single.Driver) driver.Reply { return d.Do(context.Background(), command("REFUSE")) },
		func(d *single.Driver) driver.Reply {
			return d.DedicatedPipeline(context.Background(), command("REFUSE"))[0]
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, n := openInBubble(t, 3*time.Second)
			n.server.Server().Register("REFUSE", func(c *server.Peer, _ string, _ []string) {
				c.WriteError("READONLY You can't write against a read only replica.")
			})
			n.dials.Store(0)
			for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(time.Millisecond) {
				if err := send(d).Err; !refusedWith(err, "READONLY") {
					t.Fatalf("error %v, want READONLY", err)
				}
			}
			if got := n.dials.Load(); got < 20 || got > 82 {
				t.Errorf("%d connections within 20 s, want one or two of each kind a second", got)
			}
		})
	}
}

// Goal: a call that is under way when the refusal of another one arrives is answered.
func TestCallsUnderWayAtARefusingServerEndInPeace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, 3*time.Second)
		n.server.Server().Register("REFUSE", func(c *server.Peer, _ string, _ []string) {
			time.Sleep(100 * time.Millisecond)
			c.WriteError("READONLY You can't write against a read only replica.")
		})
		n.server.Server().Register("SLOW", func(c *server.Peer, _ string, _ []string) {
			time.Sleep(time.Second)
			c.WriteOK()
		})
		errs := make(chan error)
		go func() { errs <- d.Do(t.Context(), command("REFUSE")).Err }()
		synctest.Wait()
		go func() { errs <- d.Do(t.Context(), command("SLOW")).Err }()
		if err := <-errs; !refusedWith(err, "READONLY") {
			t.Errorf("error %v, want READONLY", err)
		}
		if err := <-errs; err != nil {
			t.Errorf("the call behind it: %v", err)
		}
	})
}
