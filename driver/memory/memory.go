// Package memory is a driver without a server to install: Redis in this
// process, played by github.com/alicebob/miniredis, for tests, examples and
// programs of a single process.
//
// It speaks through package rueidis, so that only the server differs from the
// default driver. Keys expire by the clock. Inside a testing/synctest bubble
// that is the bubble's clock, and no real time passes; everything that Open
// starts then belongs to the bubble, so open the driver inside.
//
// Outside of a bubble a key may expire while a script runs, which Redis rules out. The script
// may then fail. So at the very end of a lease, one call may return an error of the server.
//
// Importing this package makes redlatch.Open accept memory:// and memory://name.
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

var _ driver.Embedded = (*Driver)(nil)

func init() {
	driver.Register("memory", func(ctx context.Context, name string, commandTimeout time.Duration) (driver.Driver, error) {
		return Open(ctx, Options{Name: name, CommandTimeout: commandTimeout})
	})
}

// Options say which server to connect to.
type Options struct {
	// Name is the name of the server. All drivers of this process that have the same name share
	// the server. Default: a server that nobody shares.
	Name string
	// CommandTimeout bounds every call. Default: 3s.
	CommandTimeout time.Duration
}

// Driver is a connection to a server in this process.
type Driver struct {
	*rueidis.Driver
	server *miniredis.Miniredis
	end    func()
}

// Open connects to a server. A server starts, empty, with its first driver and ends with its
// last. A named server must not be shared between synctest bubbles.
func Open(ctx context.Context, options Options) (*Driver, error) {
	server, end := rent(options.Name)
	connection, err := rueidis.Open(ctx, rueidis.Options{
		Address:        "memory:" + options.Name,
		Dial:           func(context.Context, string) (net.Conn, error) { return dial(server) },
		Unbuffered:     true, // the connection is a net.Pipe
		CommandTimeout: options.CommandTimeout,
	})
	if err != nil {
		end()
		return nil, fmt.Errorf("open memory server %q: %w", options.Name, err)
	}
	return &Driver{Driver: connection, server: server, end: end}, nil
}

// Embedded marks the driver as a driver.Embedded.
func (d *Driver) Embedded() {}

// Miniredis is the server itself, for tests that look behind the scenes.
func (d *Driver) Miniredis() *miniredis.Miniredis { return d.server }

// Close ends the connections, and with its last user the server and all data.
func (d *Driver) Close() {
	d.Driver.Close()
	d.end()
}
