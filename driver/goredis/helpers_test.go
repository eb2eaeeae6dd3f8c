package goredis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
)

const soon, later, slack = drivercheck.Soon, drivercheck.Later, drivercheck.Slack

var (
	command, do, listen          = drivercheck.Command, drivercheck.Do, drivercheck.Listen
	wantUnknown, wantNotSent     = drivercheck.WantUnknown, drivercheck.WantNotSent
	wantNoContextError, within   = drivercheck.WantNoContextError, drivercheck.Within[struct{}]
	eventuallyWorks, startStream = drivercheck.EventuallyWorks, drivercheck.StartStream
	listenAndWait, channelsAt    = drivercheck.RecordAcknowledged, drivercheck.ChannelsAt
)

// until closes a client at the end of the test.
func until[C redis.UniversalClient](t testing.TB, client C) C {
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// dial makes a client of go-redis until the end of the test.
func dial(t testing.TB, options *redis.Options) *redis.Client {
	return until(t, redis.NewClient(options))
}

// open makes a driver until the end of the test. On a busy machine New may need more than the command
// timeout of a test, and is called again.
func open(t testing.TB, client redis.UniversalClient, options ...goredis.Option) driver.Driver {
	t.Helper()
	d, err := goredis.Open(t.Context(), client, options...)
	var wrong *driver.OptionError
	for limit := time.Now().Add(soon); err != nil && !errors.As(err, &wrong) && time.Now().Before(limit); {
		d, err = goredis.Open(t.Context(), client, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// plainDialer connects whatever has become of the context, as the dialers of some applications do.
func plainDialer(_ context.Context, network, address string) (net.Conn, error) {
	return net.Dial(network, address)
}
