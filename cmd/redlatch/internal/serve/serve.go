// Package serve makes the HTTP servers of the command. Each has all timeouts and a bound of
// connections. So no client of a server can use up the memory, the file descriptors or the time of
// the process.
package serve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The timeouts of a server. A handler whose answer takes longer sets a write deadline of its own.
const (
	headersWithin = 5 * time.Second
	requestWithin = 15 * time.Second // with its body
	answerWithin  = 30 * time.Second
	idleFor       = time.Minute
	shutdownFor   = time.Second
)

// maxHeaders is how long the headers of a request may be, in bytes.
const maxHeaders = 16 << 10

// maxStreams is how many requests one connection of HTTP/2 may have at a time.
const maxStreams = 100

// New returns a server with all timeouts and with at most so many connections. When there is one more,
// it closes another one on which no request is being answered: the oldest of the address that has
// most connections. So idle connections keep nobody out. If all are being answered, it closes the
// new one.
func New(handler http.Handler, connections int) *http.Server {
	b := &bound{most: connections, known: make(map[net.Conn]*connection)}
	return &http.Server{
		Handler:           b.answering(handler),
		ReadHeaderTimeout: headersWithin,
		ReadTimeout:       requestWithin,
		WriteTimeout:      answerWithin,
		IdleTimeout:       idleFor,
		MaxHeaderBytes:    maxHeaders,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // clients write it
		ConnState:         b.changed,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, key{}, conn)
		},
	}
}

// Shutdown ends a server and its connections. It waits for a second for those that are being answered.
func Shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownFor)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

// bound keeps the connections of a server within a bound.
type bound struct {
	mu    sync.Mutex
	most  int
	known map[net.Conn]*connection
}

// connection is what is known of one.
type connection struct {
	since     time.Time
	address   string // without the port
	answering int    // requests
}

// key is the key of a request's connection in its context.
type key struct{}

// changed is called when a connection is new, and when it has ended.
func (b *bound) changed(conn net.Conn, state http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch state {
	case http.StateNew:
		address, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		b.known[conn] = &connection{since: time.Now(), address: address}
		if len(b.known) > b.most {
			b.closeOne()
		}
	case http.StateClosed, http.StateHijacked:
		delete(b.known, conn)
	}
}

// closeOne closes the connection that has least claim to stay. The mutex is held.
func (b *bound) closeOne() {
	of := make(map[string]int)
	for _, c := range b.known {
		of[c.address]++
	}
	var victim net.Conn
	for conn, c := range b.known {
		if c.answering > 0 {
			continue
		}
		v := b.known[victim]
		if v == nil || of[c.address] > of[v.address] || of[c.address] == of[v.address] && c.since.Before(v.since) {
			victim = conn
		}
	}
	delete(b.known, victim)
	if encrypted, ok := victim.(interface{ NetConn() net.Conn }); ok {
		victim = encrypted.NetConn() // which does not wait to say so
	}
	_ = victim.Close()
}

// answering notes which connections have a request that is being answered. The time to read a request
// ends there: a handler may answer for as long as it likes.
func (b *bound) answering(next http.Handler) http.Handler {
	count := func(conn net.Conn, n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if c := b.known[conn]; c != nil {
			c.answering += n
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(key{}).(net.Conn)
		count(conn, 1)
		defer count(conn, -1)
		if r.ContentLength == 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // not every writer can
		}
		next.ServeHTTP(w, r)
	})
}
