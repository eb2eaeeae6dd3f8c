// Package memory is a driver without a server to install: Redis in this
// process, played by github.com/alicebob/miniredis, for tests, examples and
// programs of a single process.
//
// It speaks through package rueidis, so that only the server differs from the
// default driver. Keys expire by the clock. Inside a testing/synctest bubble
// that is the bubble's clock, and no real time passes; everything that Open
// starts then belongs to the bubble, so open the driver inside.
package memory

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

var _ driver.Driver = (*Driver)(nil)

// Driver is a connection to a server in this process.
type Driver struct {
	*rueidis.Driver
	lease *lease
}

// Option changes what Open does.
type Option func(*rueidis.Options)

// WithCommandTimeout bounds every call. Without it, the bound is 3 s.
func WithCommandTimeout(timeout time.Duration) Option {
	return func(o *rueidis.Options) { o.CommandTimeout = timeout }
}

// Open connects to the server of the given name, which everyone in this
// process shares who opens the same name: it starts, empty, with its first
// user and ends with its last. An empty name means a server of one's own.
// A named server must not be shared between synctest bubbles.
func Open(ctx context.Context, name string, options ...Option) (*Driver, error) {
	lease := rent(name)
	settings := rueidis.Options{
		Address: "memory:" + name,
		Dial: func(context.Context, string) (net.Conn, error) {
			return dial(lease.server)
		},
		Unbuffered: true, // the connection is a net.Pipe
	}
	for _, option := range options {
		option(&settings)
	}
	connection, err := rueidis.Open(ctx, settings)
	if err != nil {
		lease.end()
		return nil, fmt.Errorf("open memory server %q: %w", name, err)
	}
	return &Driver{Driver: connection, lease: lease}, nil
}

// Miniredis is the server itself, for tests that look behind the scenes.
func (d *Driver) Miniredis() *miniredis.Miniredis { return d.lease.server }

// Close ends the connections, and with its last user the server and all data.
func (d *Driver) Close() {
	d.Driver.Close()
	d.lease.end()
}
