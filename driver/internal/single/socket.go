package single

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// socket is the only connection that a rueidis client may have. The client may dial while
// that is allowed, and is refused at any other time, so that rueidis cannot
// connect in the middle of a caller's command.
type socket struct {
	options Options
	// queue has the calls of a link. Each of their commands has one reply. A listener has none.
	queue *queue

	ctx     context.Context // of the caller that allowed; nil while forbidden
	address string          // of the server, before AddressMap
	conn    net.Conn
	release func() bool // of the function that ctx calls; nil before there is a conn
}

// allow lets the next dial connect. The connection ends with ctx until forbid is called.
func (s *socket) allow(ctx context.Context) { s.ctx = ctx }

// dial is called by rueidis. It ignores the context that rueidis provides, which
// belongs to whichever caller came first.
func (s *socket) dial() (net.Conn, error) {
	ctx := s.ctx
	if ctx == nil {
		return nil, errGone
	}
	s.address = s.options.Address
	if s.options.resolve != nil {
		var err error
		if s.address, err = s.options.resolve(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := s.options.connect(ctx, s.address)
	if err != nil {
		return nil, err
	}
	conn = newGuard(conn, s.queue)
	// rueidis logs in without a context of ours. Closing the connection ends
	// that as well.
	s.conn, s.release = conn, context.AfterFunc(ctx, func() { conn.Close() })
	return conn, nil
}

// credentials is called by rueidis after dial.
func (s *socket) credentials(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	ctx, address := s.ctx, s.address
	secrets, err := call.Run(ctx, s.options.aside, "Credentials", func() (secrets rueidis.AuthCredentials, err error) {
		secrets.Username, secrets.Password, err = s.options.Credentials(ctx, address)
		return secrets, err
	}, func(rueidis.AuthCredentials) {})
	if err != nil {
		err = fmt.Errorf("credentials for %s: %w", address, err)
	}
	return secrets, err
}

// forbid forbids dialling, and says why ctx ended meanwhile, if it did. Afterwards
// the connection does not depend on ctx any more.
func (s *socket) forbid() error {
	ctx := s.ctx
	s.ctx = nil
	if s.release != nil {
		s.release()
	}
	return call.Ended(ctx)
}

// tlsAlert is the first byte of a TLS record with an alert.
const tlsAlert = 21

// hungUp says whether the connection ended without a byte, or with a record of TLS.
func (s *socket) hungUp(err error) bool {
	g, connected := s.conn.(*guard)
	return connected && (g.replies.top == tlsAlert ||
		g.replies.top == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)))
}

// end closes a client's connection and then the client; both may be nil. In
// this order, because a client that is closed first asks the server for a last
// PING and waits for it, up to a second if the server is frozen.
func end(client rueidis.Client, conn net.Conn) {
	if conn != nil {
		conn.Close()
	}
	if client != nil {
		client.Close()
	}
}
