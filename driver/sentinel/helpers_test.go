package sentinel_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/sentinel"
	"github.com/redlatch/redlatch/internal/redistest"
)

// soon is enough for everything that should just happen, slack what a busy machine may
// add to a bound.
const (
	soon  = 15 * time.Second
	slack = 1500 * time.Millisecond
)

// open connects until the end of the test.
func open(t testing.TB, options sentinel.Options) driver.Driver {
	t.Helper()
	d, err := sentinel.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func command(words ...string) driver.Command { return driver.Command{Words: words} }

// do sends a command that has to succeed.
func do(t testing.TB, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.Do(context.Background(), command(words...))
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}

// eventuallyWorks waits until a command succeeds again.
func eventuallyWorks(t testing.TB, d driver.Driver) {
	t.Helper()
	redistest.Eventually(t, soon, func() bool {
		return d.Do(context.Background(), command("PING")).Err == nil
	}, "commands work again")
}

// within waits for the end of something.
func within(t testing.TB, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatalf("not within %v: %s", soon, what)
	}
}

// dialPast connects to an address by another way.
func dialPast(address, way string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, asked string) (net.Conn, error) {
		if asked == address {
			asked = way
		}
		return new(net.Dialer).DialContext(ctx, "tcp", asked)
	}
}
