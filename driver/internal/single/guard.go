package single

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// errMalformed is matched by the reason why a connection ends whose server sent what no
// server sends.
var errMalformed = errors.New("not a Redis reply")

// guard is a connection whose replies are checked before rueidis reads them. rueidis
// trusts their lengths: a negative or a giant one ends the process, and so does a reply
// that nobody asked for. On a subscription connection, the pending requests say what was
// asked for.
type guard struct {
	net.Conn
	replies  replyScanner
	requests requestScanner
	paired   bool // there is at most one reply to each request
	yields   *call.Yielder
	sent     atomic.Int64
	broken   error
}

// newGuard returns a guard for a connection with a queue of calls, or with none for subscriptions.
func newGuard(conn net.Conn, calls *queue) *guard {
	g := &guard{Conn: conn, paired: calls != nil}
	if g.paired {
		g.yields = call.NewYielder(calls.len, calls.left.Load)
	} else {
		var p pending
		g.requests.report, g.replies.report = p.sent, p.received
	}
	return g
}

// Read passes bytes on unless they belong to a malformed reply.
func (g *guard) Read(p []byte) (n int, err error) {
	defer caught(&n, &err)
	if g.broken != nil {
		return 0, g.broken
	}
	n, err = g.Conn.Read(p)
	if g.broken = g.replies.scan(p[:n]); g.broken == nil && g.paired && (g.replies.whole > g.sent.Load() || g.replies.pushed) {
		g.broken = fmt.Errorf("%w: more replies than requests", errMalformed)
	}
	if g.broken != nil {
		g.Close()
		return 0, g.broken
	}
	return n, err
}

// Write counts the requests, and lets callers add more to the next write.
func (g *guard) Write(p []byte) (n int, err error) {
	defer caught(&n, &err)
	g.sent.Store(g.requests.scan(p))
	n, err = g.Conn.Write(p)
	if g.paired {
		g.yields.Yield()
	}
	return n, err
}

// caught turns a panic of a connection into an error. A user's Dial may have made the connection, and others call it on
// goroutines of their own.
func caught(n *int, err *error) {
	if p := recover(); p != nil {
		*n, *err = 0, fmt.Errorf("the connection panicked: %v", p)
	}
}
