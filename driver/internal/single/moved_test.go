package single_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: subscriptions follow a name to another server although the former one lives on and
// keeps their connection. Method: it hangs up on idle connections for commands alone, as
// Redis does with the setting "timeout".
func TestAListenerFollowsTheCommandsToAnotherServer(t *testing.T) {
	t.Parallel()
	former, next := redistest.Start(t), redistest.Start(t)
	var address atomic.Value
	address.Store(former.Addr())
	d := open(t, single.Options{Address: "name:1", Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address.Load().(string))
	}})
	l := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	if err := l.Subscribe(t.Context(), "channel"); err != nil {
		t.Fatal(err)
	}
	former.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	eventuallyWorks(t, d)
	if err := l.Subscribe(t.Context(), "other"); err != nil {
		t.Fatalf("the listener ended although the server is the same: %v", err)
	}
	address.Store(next.Addr())
	former.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	eventuallyWorks(t, d)
	drivercheck.Within(t, l.Done(), "the listener on the former server ends")
}
