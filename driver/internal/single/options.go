package single

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// bufferBytes is the size of a connection's read and write buffers. The default of rueidis is
// half a MiB for each; lock commands are some hundred bytes long.
const bufferBytes = 64 << 10

// Options say which server to connect to and how.
type Options struct {
	// Address is the server's host:port. If Dial is set, it may have any form.
	Address string
	// Username and Password log in. Default: no login. A Password alone logs in as the
	// default user.
	Username string
	Password string
	// Credentials, when set, replaces Username and Password. It is called for each
	// connection with the server's address. It should end with ctx.
	Credentials func(ctx context.Context, address string) (username, password string, err error)
	// AddressMap, when set, translates each address before the driver connects to it.
	AddressMap func(address string) string
	// Explain, when set, may add advice to an error reply. Its result wraps the reply.
	Explain func(*driver.ServerError) error
	// Accept, when set, is called for each connection for commands, with the server's replies to
	// INFO server and INFO scriptingengines. If it returns an error, the server is not used.
	Accept func(about, engines driver.Reply) error
	// Tolerate, when set, is told why Open cannot connect, unless the ctx of Open has ended. If it
	// returns true, Open returns a driver, which goes on trying to connect.
	Tolerate func(error) bool
	// ClientName is the name of the connections in CLIENT LIST. Default: "redlatch".
	ClientName string
	// DB is the number of the database. Default: 0.
	DB int
	// CommandTimeout bounds every call, including its wait for a connection. It does not
	// bound dedicated pipelines. Default: 3s.
	CommandTimeout time.Duration
	// TLS, when set, encrypts the connections. Default: unencrypted.
	TLS *tls.Config
	// Dial connects to an address. It should end with ctx. If it does not, nobody waits for it, and
	// the connection that it makes is closed. Default: TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Unbuffered says that a write to a connection of Dial waits for its reader, as with
	// net.Pipe. The driver then reads while it writes, which is slower for a lone caller.
	Unbuffered bool

	// resolve, when set, is asked for the address of each connection, which must be that of a
	// primary. With TLS, the certificate is checked against that address. Address is then only
	// the server's name in errors.
	resolve func(ctx context.Context) (address string, err error)
	// slow says that replies may take any time.
	slow bool
	// aside runs AddressMap, Dial, TLS and Credentials.
	aside call.Aside
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if o.Address == "" {
		return o, &driver.OptionError{Option: "Address", Reason: "it is empty"}
	}
	if o.DB < 0 {
		return o, &driver.OptionError{Option: "DB", Reason: fmt.Sprintf("%d is negative", o.DB)}
	}
	if strings.ContainsFunc(o.ClientName, func(r rune) bool { return r < '!' || r > '~' }) {
		return o, &driver.OptionError{Option: "ClientName", Reason: fmt.Sprintf("%q is not visible ASCII alone", o.ClientName)}
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	o.aside = call.NewAside()
	var err error
	o.CommandTimeout, err = call.Timeout(o.CommandTimeout)
	return o, err
}

// client are the options of a rueidis client with one connection: that of the socket.
//
// rueidis checks a connection once every KeepAlive. If nothing has arrived since
// the check before, it sends a PING and ends the connection after ConnWriteTimeout
// without an answer. So an idle connection costs the server one PING in each command
// timeout, and its end is noticed after 2.5 command timeouts at the latest. Calls under
// way do not rely on that: see watch. ConnWriteTimeout bounds a lone call directly.
func (o Options) client(socket *socket) rueidis.ClientOption {
	keepAlive := o.CommandTimeout
	if o.slow {
		keepAlive = -1 // never: the answer to a PING would wait behind the reply
	}
	options := rueidis.ClientOption{
		InitAddress: []string{o.Address},
		Username:    o.Username,
		Password:    o.Password,
		SelectDB:    o.DB,
		ClientName:  cmp.Or(o.ClientName, "redlatch"),
		// The form that CLIENT LIST expects of software on top of a client.
		ClientSetInfo: []string{rueidis.LibName + "(redlatch)", rueidis.LibVer},

		Dialer:           net.Dialer{Timeout: o.CommandTimeout, KeepAlive: keepAlive},
		ConnWriteTimeout: o.CommandTimeout / 2,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return socket.dial()
		},

		ForceSingleClient:   true,
		DisableRetry:        true,
		DisableCache:        true,
		AlwaysPipelining:    o.Unbuffered,
		PipelineMultiplex:   -1,
		BlockingPipeline:    math.MaxInt, // long pipelines would get another connection, and lose their order
		ReadBufferEachConn:  bufferBytes,
		WriteBufferEachConn: bufferBytes,
	}
	if o.Credentials != nil {
		options.AuthCredentialsFn = socket.credentials
	}
	return options
}

// unknown reports a command that may have reached the server.
func (o *Options) unknown(reason error) error {
	return fmt.Errorf("redis %s: %w", o.Address, reason)
}

// notSent reports a command that certainly has not.
func (o *Options) notSent(reason error) error {
	return fmt.Errorf("redis %s: %w: %w", o.Address, driver.ErrNotSent, reason)
}
