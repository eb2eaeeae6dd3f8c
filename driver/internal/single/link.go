package single

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"
)

// errGone is what a link answers when its connection is gone: the command was
// not sent, and only another link can send it.
var errGone = errors.New("connection gone")

// errReplica refuses a server that is not a primary.
var errReplica = errors.New("the server is a replica")

// link is one connection for commands, from its making to its end.
type link struct {
	client     rueidis.Client
	conn       net.Conn
	began      time.Time
	generation context.Context
	queue      *queue
	expiry     *time.Timer // of an idle one of the pool

	reason error // why it was given up; guarded by Driver.mu
}

// newLink connects, logs in, selects the database and asks whether the server
// is ready. It ends with ctx, and leaves nothing behind when it fails.
func newLink(ctx context.Context, s Options) (*link, error) {
	queue := &queue{taken: make(chan struct{}, places), gone: make(chan struct{})}
	socket := socket{options: s, queue: queue}
	socket.allow(ctx)
	options := s.client(&socket)
	// In RESP2, replies look the same from every server and from every script. RESP3
	// would add maps, sets and doubles, for which redlatch has no use.
	options.AlwaysRESP2 = true
	client, err := rueidis.NewClient(options)
	if err == nil {
		err = ready(client)
	}
	if err == nil && s.resolve != nil {
		err = primary(client)
	}
	if over := socket.forbid(); over != nil && errors.Is(err, ErrNoTLS) {
		err = fmt.Errorf("%w: %w", ErrNoTLS, over)
	} else if over != nil {
		err = over // and not what rueidis makes of a connection closed under it
	} else if err != nil && s.TLS == nil && socket.hungUp(err) {
		err = fmt.Errorf("%w: %w", ErrHungUp, err)
	}
	if err != nil {
		end(client, socket.conn)
		return nil, err
	}
	return &link{client: client, conn: socket.conn, began: time.Now(), queue: queue}, nil
}

// ready sends a PING. Any answer to it will do except one: a server that is
// loading its data would refuse every command, but only for a while.
//
// There is no context here; the socket ends the call. After the
// first call with a context that can end, rueidis reads on a goroutine of its
// own, which is slower as long as there is only one caller.
func ready(client rueidis.Client) error {
	err := client.Do(context.Background(), client.B().Ping().Build()).Error()
	if reply, ok := rueidis.IsRedisErr(err); ok && !reply.IsLoading() {
		return nil
	}
	return err
}

// primary asks the server for its role. A server that does not say, because the user may
// not ask, is taken for a primary. As in ready, there is no context.
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

// close ends the link. It is called once. Calls under way end with an error.
func (l *link) close() {
	close(l.queue.gone)
	end(l.client, l.conn)
}
