package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// soon is enough for everything that should just happen, and later for what a cluster
// has to agree upon first.
const (
	soon  = 10 * time.Second
	later = 30 * time.Second
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

// command makes a Command whose key is its first argument, if it has any.
func command(words ...string) driver.Command {
	c := driver.Command{Words: words}
	if len(words) > 1 {
		c.Key = words[1]
	}
	return c
}

// do sends a command that has to succeed.
func do(t testing.TB, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.Do(t.Context(), command(words...))
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}
