package rueidis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/redis/rueidis"
)

// errGone is what a link answers when its connection is gone: the command was
// not sent, and only another link can send it.
var errGone = errors.New("connection gone")

// link is one connection for commands, from its making to its end.
type link struct {
	client rueidis.Client
	conn   net.Conn
	born   time.Time
	era    context.Context // in which it was made
	queue  *queue

	reason error // why it was given up; guarded by Driver.mu
}

// newLink connects, logs in, selects the database and asks whether the server
// is ready. It ends with ctx, and leaves nothing behind when it fails.
func newLink(ctx context.Context, options Options) (*link, error) {
	line := line{paired: true}
	line.allow(ctx, options)
	settings := options.client(&line)
	// Replies look the same from every server, script or not: in RESP3, maps,
	// sets and doubles would be added, for which redlatch has no use.
	settings.AlwaysRESP2 = true
	client, err := rueidis.NewClient(settings)
	if err == nil {
		err = ready(client)
	}
	if err == nil && options.Primary {
		err = primary(client)
	}
	if over := line.settle(); over != nil && errors.Is(err, ErrNoTLS) {
		err = fmt.Errorf("%w: %w", ErrNoTLS, over)
	} else if over != nil {
		err = over // and not what rueidis makes of a connection closed under it
	} else if err != nil && options.TLS == nil && line.hungUp(err) {
		err = fmt.Errorf("%w: %w", ErrHungUp, err)
	}
	if err != nil {
		end(client, line.conn)
		return nil, err
	}
	return &link{client: client, conn: line.conn, born: time.Now(), queue: newQueue()}, nil
}

// ready sends a PING. Any answer to it will do except one: a server that is
// loading its data would refuse every command, but only for a while.
//
// It does so without a context, and leaves it to line to end it: after the
// first call with a context that can end, rueidis reads on a goroutine of its
// own, and that is slower as long as there is only one caller.
func ready(client rueidis.Client) error {
	err := client.Do(context.Background(), client.B().Ping().Build()).Error()
	if reply, ok := rueidis.IsRedisErr(err); ok && !reply.IsLoading() {
		return nil
	}
	return err
}

// errReplica refuses a server that is not a primary.
var errReplica = errors.New("the server is a replica")

// primary asks the server what it is. One that does not say, because the user may not
// ask, is believed to be what it should be. As in ready, there is no context.
func primary(client rueidis.Client) error {
	role, err := client.Do(context.Background(), client.B().Role().Build()).ToArray()
	if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
		return err
	}
	if len(role) > 0 {
		if name, _ := role[0].ToString(); name == "slave" {
			return errReplica
		}
	}
	return nil
}

// close ends the link, once. Calls under way end with an error.
func (l *link) close() {
	close(l.queue.gone)
	end(l.client, l.conn)
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

// line is the one connection that a rueidis client may have: it is dialled
// while that is allowed, and refused at any other time, so that rueidis cannot
// connect in the middle of a caller's command.
type line struct {
	conn    net.Conn
	address string // of the server, before AddressMap
	// paired says that there is one reply to each command.
	paired bool

	options Options
	ctx     context.Context // of the caller that allowed; nil while forbidden
	release func() bool     // of the watch over ctx; nil before there is a conn
}

// allow lets the next dial connect. What follows on the connection, until
// settle, ends with ctx as well.
func (l *line) allow(ctx context.Context, options Options) {
	l.ctx, l.options = ctx, options
}

// dial is called by rueidis. The context that rueidis offers is not used: it
// belongs to whichever caller came first.
func (l *line) dial() (net.Conn, error) {
	ctx := l.ctx
	if ctx == nil {
		return nil, errGone
	}
	var err error
	if l.address, err = l.options.resolve(ctx); err != nil {
		return nil, err
	}
	conn, err := l.options.connect(ctx, l.address)
	if err != nil {
		return nil, err
	}
	conn = newGuard(conn, l.paired)
	// rueidis logs in without a context of ours. Closing the connection ends
	// that as well.
	l.conn, l.release = conn, context.AfterFunc(ctx, func() { conn.Close() })
	return conn, nil
}

// hungUp says whether the connection ended without a word, or with a record of TLS.
func (l *line) hungUp(err error) bool {
	g, connected := l.conn.(*guard)
	return connected && (g.replies.top == tlsAlert ||
		g.replies.top == 0 && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)))
}

// tlsAlert is the first byte of a TLS record with an alert.
const tlsAlert = 21

// credentials are asked for by rueidis after dial.
func (l *line) credentials(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	username, password, err := l.options.Credentials(l.ctx, l.address)
	if err != nil {
		err = fmt.Errorf("credentials for %s: %w", l.address, err)
	}
	return rueidis.AuthCredentials{Username: username, Password: password}, err
}

// settle forbids dialling, and tells whether ctx ended meanwhile. Afterwards
// the connection does not depend on ctx any more.
func (l *line) settle() error {
	ctx := l.ctx
	l.ctx = nil
	if l.release != nil {
		l.release()
	}
	return ended(ctx)
}
