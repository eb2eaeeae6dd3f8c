package single

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// errGone is what a link answers when its connection is gone: the command was
// not sent, and only another link can send it.
var errGone = errors.New("connection gone")

// link is one connection for commands, from its making to its end.
type link struct {
	client     rueidis.Client
	conn       net.Conn
	server     call.Identity
	began      time.Time
	returning  time.Time // until then or so, clients return from the outage before it
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
	var server call.Identity
	if err == nil {
		server, err = ready(client, socket.conn, s.Accept)
	}
	if err == nil && s.resolve != nil && server.Replica {
		err = call.ErrReplica
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
	return &link{client: client, conn: socket.conn, server: server, began: time.Now(), queue: queue}, nil
}

// close ends the link. It is called once. Calls under way end with an error.
func (l *link) close() {
	close(l.queue.gone)
	end(l.client, l.conn)
}
