package single

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// bufferBytes is the size of a connection's read and write buffers. The default of rueidis is
// half a MiB for each; lock commands are some hundred bytes long.
const bufferBytes = 64 << 10

// Options are those of package rueidis, which documents them.
type Options struct {
	Address        string
	Username       string
	Password       string
	Credentials    func(ctx context.Context, address string) (username, password string, err error)
	AddressMap     func(address string) string
	Explain        func(*driver.ServerError) error
	DB             int
	CommandTimeout time.Duration
	TLS            *tls.Config
	Dial           func(ctx context.Context, address string) (net.Conn, error)
	Unbuffered     bool
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if o.Address == "" {
		return o, &driver.OptionError{Option: "Address", Reason: "it is empty"}
	}
	if o.DB < 0 {
		return o, &driver.OptionError{Option: "DB", Reason: fmt.Sprintf("%d is negative", o.DB)}
	}
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	var err error
	o.CommandTimeout, err = call.Timeout(o.CommandTimeout)
	return o, err
}

// settings are the options of one connection.
type settings struct {
	Options
	// resolve, when set, is asked for the address of each connection. With TLS, the
	// certificate is checked against that address. Options.Address is then only the
	// server's name in errors.
	resolve func(ctx context.Context) (address string, err error)
	// primary refuses a server that calls itself a replica.
	primary bool
	// slow says that replies may take any time.
	slow bool
}

// bounded is ctx, which ends with the command timeout at the latest.
func (s settings) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return call.Bound(ctx, time.Now(), s.CommandTimeout)
}

// client are the options of a rueidis client with one connection: that of the socket.
//
// rueidis checks a connection once every KeepAlive. If nothing has arrived since
// the check before, it sends a PING and ends the connection after ConnWriteTimeout
// without an answer. So an idle connection costs the server one PING in each command
// timeout, and its end is noticed after 2.5 command timeouts at the latest. Calls under
// way do not rely on that: see watch. ConnWriteTimeout bounds a lone call directly.
func (s settings) client(socket *socket) rueidis.ClientOption {
	keepAlive := s.CommandTimeout
	if s.slow {
		keepAlive = -1 // never: the answer to a PING would wait behind the reply
	}
	o := rueidis.ClientOption{
		InitAddress: []string{s.Address},
		Username:    s.Username,
		Password:    s.Password,
		SelectDB:    s.DB,
		ClientName:  "redlatch",
		// The form that CLIENT LIST expects of software on top of a client.
		ClientSetInfo: []string{rueidis.LibName + "(redlatch)", rueidis.LibVer},

		Dialer:           net.Dialer{Timeout: s.CommandTimeout, KeepAlive: keepAlive},
		ConnWriteTimeout: s.CommandTimeout / 2,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return socket.dial()
		},

		ForceSingleClient:   true,
		DisableRetry:        true,
		DisableCache:        true,
		AlwaysPipelining:    s.Unbuffered,
		PipelineMultiplex:   -1,
		BlockingPipeline:    math.MaxInt, // long pipelines would get another connection, and lose their order
		ReadBufferEachConn:  bufferBytes,
		WriteBufferEachConn: bufferBytes,
	}
	if s.Credentials != nil {
		o.AuthCredentialsFn = socket.credentials
	}
	return o
}

// unknown reports a command that may have reached the server.
func (s settings) unknown(reason error) error {
	return fmt.Errorf("redis %s: %w", s.Address, reason)
}

// notSent reports a command that certainly has not.
func (s settings) notSent(reason error) error {
	return fmt.Errorf("redis %s: %w: %w", s.Address, driver.ErrNotSent, reason)
}
