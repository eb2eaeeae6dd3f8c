package rueidis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
)

// defaultCommandTimeout bounds a call where Options do not say otherwise.
const defaultCommandTimeout = 3 * time.Second

// bufferBytes is the size of a connection's read and write buffers. rueidis
// would take half a MiB for each; lock commands are some hundred bytes long.
const bufferBytes = 64 << 10

// Options say which server to connect to and how.
type Options struct {
	// Address is the server's host:port. Beside Resolve it is no more than the server's
	// name in errors.
	Address string
	// Resolve, when set, is asked for the address at each connection, and must end with
	// ctx. With TLS, the certificate is checked against that address.
	Resolve func(ctx context.Context) (address string, err error)
	// Primary has connections for commands be made to a server only if it does not call
	// itself a replica.
	Primary bool
	// Username and Password log in; both empty means without. A Password
	// alone logs in as the default user.
	Username string
	Password string
	// Credentials, when set, is asked for the two at each connection, with the server's
	// address, and must end with ctx.
	Credentials func(ctx context.Context, address string) (username, password string, err error)
	// AddressMap, when set, translates each address before it is connected to.
	AddressMap func(address string) string
	// Explain, when set, may add to an error reply what can be done about it. Its result
	// wraps the reply.
	Explain func(*driver.ServerError) error
	// DB is the number of the database.
	DB int
	// CommandTimeout bounds every call, the wait for a connection included,
	// where its context does not end it sooner. Zero means 3 s.
	CommandTimeout time.Duration
	// TLS, when set, encrypts the connections.
	TLS *tls.Config
	// Dial makes the connections to an address. Nil means TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Unbuffered says that the connections of Dial hold no bytes of their
	// own, as those of net.Pipe: a write waits for its reader. The driver then
	// reads while it writes, which costs a lone caller some speed.
	Unbuffered bool

	// slow says that replies may take as long as they please.
	slow bool
}

// unhurried are the options of a connection for commands apart. Nothing PINGs on it, for
// the answer would have to wait behind the reply.
func (o Options) unhurried() Options {
	o.slow = true
	return o
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if o.Address == "" {
		return o, errors.New("redis: no address")
	}
	if o.DB < 0 {
		return o, fmt.Errorf("redis %s: database %d does not exist", o.Address, o.DB)
	}
	if o.CommandTimeout < 0 {
		return o, fmt.Errorf("redis %s: command timeout %v is negative", o.Address, o.CommandTimeout)
	}
	if o.CommandTimeout == 0 {
		o.CommandTimeout = defaultCommandTimeout
	}
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	return o, nil
}

// dialTCP makes a plain connection. Its own timeouts are the context's.
func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// resolve says where to connect to.
func (o Options) resolve(ctx context.Context) (address string, err error) {
	if o.Resolve != nil {
		return o.Resolve(ctx)
	}
	return o.Address, nil
}

// errUnmapped is an address that AddressMap could not translate.
var errUnmapped = errors.New("AddressMap returned no host:port")

// ErrNoTLS is matched by errors of encrypted connections to a server that does not speak
// TLS on that port. A Redis server without TLS may refuse the handshake, or wait for more.
var ErrNoTLS = errors.New("no TLS handshake with the server")

// ErrHungUp is matched by errors of plain connections that the server ended before it had
// said anything. A server that expects TLS on that port does so.
var ErrHungUp = errors.New("the server hung up before its first reply")

// connect makes one connection, encrypted if that is asked for.
func (o Options) connect(ctx context.Context, address string) (net.Conn, error) {
	if o.AddressMap != nil {
		mapped := o.AddressMap(address)
		if _, _, err := net.SplitHostPort(mapped); err != nil {
			return nil, fmt.Errorf("%w for %s, but %q", errUnmapped, address, mapped)
		}
		address = mapped
	}
	conn, err := o.Dial(ctx, address)
	if err != nil || o.TLS == nil {
		return conn, err
	}
	config := o.TLS
	if config.ServerName == "" && !config.InsecureSkipVerify {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		config = config.Clone()
		config.ServerName = host
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		var plain tls.RecordHeaderError
		if errors.As(err, &plain) || ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrNoTLS, err)
		}
		return nil, err
	}
	return secured, nil
}

// client are the options of a rueidis client with one connection, which is line's.
//
// rueidis looks at a connection once every KeepAlive. Where nothing has arrived since
// the look before, it sends a PING and ends the connection after ConnWriteTimeout
// without an answer. So an idle connection costs the server one PING in each command
// timeout, and the end of an idle one is noticed after 2.5 command timeouts at the
// latest. Calls under way do not rely on that: see watch. A lone call is bounded by
// ConnWriteTimeout directly.
func (o Options) client(line *line) rueidis.ClientOption {
	look := o.CommandTimeout
	if o.slow {
		look = -1 // never
	}
	settings := rueidis.ClientOption{
		InitAddress: []string{o.Address},
		Username:    o.Username,
		Password:    o.Password,
		SelectDB:    o.DB,
		ClientName:  "redlatch",
		// The form that CLIENT LIST expects of software on top of a client.
		ClientSetInfo: []string{rueidis.LibName + "(redlatch)", rueidis.LibVer},

		Dialer:           net.Dialer{Timeout: o.CommandTimeout, KeepAlive: look},
		ConnWriteTimeout: o.CommandTimeout / 2,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return line.dial()
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
		settings.AuthCredentialsFn = line.credentials
	}
	return settings
}
