package single_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/driver/internal/single"
)

// network is a way to an in-memory server that a test can break.
type network struct {
	server *miniredis.Miniredis
	dials  atomic.Int64
	conn   atomic.Pointer[net.Conn] // the latest

	mu     sync.Mutex
	reason error         // of failed dials; nil while they succeed
	frozen chan struct{} // closed at the end of a freeze; nil without
}

var errDown = errors.New("network down")

func (n *network) dial(context.Context, string) (net.Conn, error) {
	n.dials.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reason != nil {
		return nil, n.reason
	}
	conn, err := n.server.Dial()
	n.conn.Store(&conn)
	return conn, err
}

// fail breaks the connection and refuses others, if there is a reason.
func (n *network) fail(reason error) {
	n.mu.Lock()
	n.reason = reason
	n.mu.Unlock()
	(*n.conn.Load()).Close()
}

// recover lets dials succeed again.
func (n *network) recover() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reason = nil
}

// freeze has the server answer nothing, while it accepts connections.
func (n *network) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frozen = make(chan struct{})
}

func (n *network) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen != nil {
		close(n.frozen)
		n.frozen = nil
	}
}

// serve is called by the server before every command.
func (n *network) serve(*server.Peer, string, ...string) (done bool) {
	n.mu.Lock()
	frozen := n.frozen
	n.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return false
}

// newNetwork starts an in-memory server of the test's own.
func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{server: miniredis.NewMiniRedis()}
	conn, err := n.server.Dial() // which starts the server
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	n.server.Server().SetPreHook(n.serve)
	t.Cleanup(func() {
		n.thaw()
		n.server.Close()
	})
	return n
}

// openInBubble connects to an in-memory server.
func openInBubble(t *testing.T, timeout time.Duration) (*single.Driver, *network) {
	t.Helper()
	n := newNetwork(t)
	return open(t, single.Options{Address: "bubble", Dial: n.dial, CommandTimeout: timeout}), n
}
