package rueidis

import (
	"context"

	"github.com/redlatch/redlatch/driver/internal/single"
)

// Options say which server to connect to and how. The fields are documented where they are
// declared.
type Options = single.Options

// Driver is a connection to one Redis server. It implements driver.Driver and
// driver.Bounded.
type Driver = single.Driver

// ErrNoTLS is matched by errors of encrypted connections to a server that does not speak
// TLS on that port. A Redis server without TLS may refuse the handshake, or wait for more.
var ErrNoTLS = single.ErrNoTLS

// ErrHungUp is matched by errors of plain connections that the server ended before its
// first reply. A server that expects TLS on that port does so.
var ErrHungUp = single.ErrHungUp

// Open connects to the server, logs in and waits for the answer to a PING. It blocks
// until then, until ctx ends, or until the command timeout has passed.
//
// The error is a *driver.OptionError if an option cannot work. It wraps a
// *driver.ServerError if the server refused, and otherwise the error of the network, of
// ctx, or of Credentials. It names the address. It matches ErrNoTLS or ErrHungUp if the
// connection is encrypted and the port is not, or the reverse. An Open that failed leaves
// nothing behind.
func Open(ctx context.Context, options Options) (*Driver, error) {
	return single.Open(ctx, options)
}
