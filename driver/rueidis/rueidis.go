package rueidis

import (
	"context"

	"github.com/redlatch/redlatch/driver/internal/single"
)

// Options say which server to connect to and how. The fields:
//
//	Address        string         the server's host:port; any form if Dial is set
//	Username       string         with Password, to log in; default: no login
//	Password       string         alone it logs in as the default user
//	Credentials    func(ctx context.Context, address string) (username, password string, err error)
//	                              instead of both, called for each connection; it should end with ctx
//	AddressMap     func(address string) string
//	                              translates each address before the driver connects to it
//	Explain        func(*driver.ServerError) error
//	                              may add advice to an error reply; its result wraps the reply
//	Accept         func(about, engines driver.Reply) error
//	                              gets a server's replies to INFO, for each connection for commands; if it
//	                              returns an error, the server is not used
//	Tolerate       func(error) bool
//	                              is told why Open cannot connect; if it returns true, Open returns a driver,
//	                              which goes on trying to connect
//	ClientName     string         the connections' name in CLIENT LIST; default: "redlatch"
//	DB             int            the database; default: 0
//	CommandTimeout time.Duration  bounds every call but dedicated pipelines; default: 3s
//	TLS            *tls.Config    encrypts the connections; default: not encrypted
//	Dial           func(ctx context.Context, address string) (net.Conn, error)
//	                              connects to an address; default: TCP
//	Unbuffered     bool           a write to a connection of Dial waits for its reader, as with net.Pipe
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
// nothing behind. With Options.Tolerate, Open can succeed without a server.
func Open(ctx context.Context, options Options) (*Driver, error) {
	return single.Open(ctx, options)
}
