package rueidis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
)

// Options say which server to connect to and how.
type Options struct {
	// Address is the server's host:port. If Dial is set, it may have any form.
	Address string
	// Username and Password log in. Default: no login. A Password alone logs in as the
	// default user.
	Username string
	Password string
	// Credentials, when set, replaces Username and Password. It is called for each
	// connection with the server's address, and must end with ctx.
	Credentials func(ctx context.Context, address string) (username, password string, err error)
	// AddressMap, when set, translates each address before the driver connects to it.
	AddressMap func(address string) string
	// Explain, when set, may add advice to an error reply. Its result wraps the reply.
	Explain func(*driver.ServerError) error
	// DB is the number of the database. Default: 0.
	DB int
	// CommandTimeout bounds every call, including its wait for a connection. It does not
	// bound dedicated pipelines. Default: 3s.
	CommandTimeout time.Duration
	// TLS, when set, encrypts the connections. Default: unencrypted.
	TLS *tls.Config
	// Dial connects to an address. Default: TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Unbuffered says that a write to a connection of Dial waits for its reader, as with
	// net.Pipe. The driver then reads while it writes, which is slower for a lone caller.
	Unbuffered bool
}

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
	return single.Open(ctx, single.Options(options))
}
