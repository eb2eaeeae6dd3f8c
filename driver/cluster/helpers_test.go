package cluster_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/rueidis"
)

const soon, later = drivercheck.Soon, drivercheck.Later

var (
	command, do             = drivercheck.Command, drivercheck.Do
	listen, listenAndWait   = drivercheck.Record, drivercheck.RecordAcknowledged
	publishBoth, channelsAt = drivercheck.PublishBoth, drivercheck.ChannelsAt
)

// connect is how the tests connect to one server.
func connect(ctx context.Context, address string) (driver.Driver, error) {
	return rueidis.Open(ctx, rueidis.Options{Address: address})
}

// open connects to a cluster until the end of the test.
func open(t testing.TB, addresses ...string) *cluster.Driver {
	t.Helper()
	return openWith(t, cluster.Options{Addresses: addresses, Connect: connect})
}

func openWith(t testing.TB, options cluster.Options) *cluster.Driver {
	t.Helper()
	d, err := cluster.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}
