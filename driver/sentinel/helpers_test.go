package sentinel_test

import (
	"context"
	"net"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/sentinel"
)

const soon, slack = drivercheck.Soon, drivercheck.Slack

var (
	command, do                  = drivercheck.Command, drivercheck.Do
	eventuallyWorks, startStream = drivercheck.EventuallyWorks, drivercheck.StartStream
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

// dialPast connects to an address by another way.
func dialPast(address, way string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, asked string) (net.Conn, error) {
		if asked == address {
			asked = way
		}
		return new(net.Dialer).DialContext(ctx, "tcp", asked)
	}
}
