package redistest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Proxy passes TCP connections on to a server, and spoils them when told to.
// All methods may be called at any time, from any goroutine.
type Proxy struct {
	address string // set once, by NewProxy
	work    sync.WaitGroup

	mu       sync.Mutex
	upstream string
	listener net.Listener          // nil while connections are refused
	accepts  chan struct{}         // closed when the listener accepts no more
	conns    map[*proxied]struct{} // nil when the test has ended
	hole     chan struct{}         // closed when the black hole ends; nil without one
	delay    time.Duration
	strikes  []*strike
}

// strike is what happens to the next requests that match.
type strike struct {
	match  func(request []byte) bool
	left   int
	unsent bool // the request does not even reach the server
}

// NewProxy starts a proxy in front of a server address, until the end of the
// test, at which it waits for its goroutines.
func NewProxy(t testing.TB, upstream string) *Proxy {
	t.Helper()
	return proxyAt(t, net.Listen, upstream)
}

// NewTLSFront encrypts the way to a server until the end of the test: it
// accepts TLS connections at the returned host:port and passes them on.
func NewTLSFront(t testing.TB, upstream string, certificate tls.Certificate) (address string) {
	t.Helper()
	return proxyAt(t, func(network, address string) (net.Listener, error) {
		return tls.Listen(network, address, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}, upstream).Addr()
}

func proxyAt(t testing.TB, listen func(network, address string) (net.Listener, error), upstream string) *Proxy {
	t.Helper()
	listener := Must(listen("tcp", local(Must(FreePort()))))
	p := &Proxy{upstream: upstream, address: listener.Addr().String(), conns: make(map[*proxied]struct{})}
	p.serve(listener)
	t.Cleanup(p.stop)
	return p
}

// Addr is the proxy's host:port.
func (p *Proxy) Addr() string { return p.address }

// URL is the proxy's redis:// URL.
func (p *Proxy) URL() string { return "redis://" + p.address }

// Containing matches requests with this text in them, such as "EVALSHA".
func Containing(text string) func(request []byte) bool {
	return func(request []byte) bool { return bytes.Contains(request, []byte(text)) }
}

// DropReplies lets the next n requests that match reach the server, which
// carries them out. Then, instead of passing the reply on, the proxy cuts the
// connection. Replies to earlier requests do arrive.
func (p *Proxy) DropReplies(n int, match func(request []byte) bool) {
	p.strike(&strike{match: match, left: n})
}

// DropRequests cuts the connection on which one of the next n requests that
// match arrives. The server does not see the request, nor any behind it.
func (p *Proxy) DropRequests(n int, match func(request []byte) bool) {
	p.strike(&strike{match: match, left: n, unsent: true})
}

func (p *Proxy) strike(s *strike) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strikes = append(p.strikes, s)
}

// Redirect has new connections lead to another server, as a virtual IP does after a
// failover. Those that exist go on.
func (p *Proxy) Redirect(upstream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
}

// Cut ends all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.cut()
	}
}

// Blackhole lets nothing pass, while on, in either direction. Connections stay
// open and new ones are accepted. What was held back passes when it ends.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.hole == nil:
		p.hole = make(chan struct{})
	case !on && p.hole != nil:
		close(p.hole)
		p.hole = nil
	}
}

// Delay holds every request back for a time; zero ends that. Requests on one
// connection wait one after another.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Refuse refuses new connections while on. Those that exist go on.
func (p *Proxy) Refuse(t testing.TB, on bool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on:
		p.unlisten()
		// A child between fork and exec has a copy of the listener, for which the
		// kernel accepts.
		for refused := false; !refused && t.Context().Err() == nil; {
			conn, err := net.Dial("tcp", p.address)
			if err == nil {
				conn.Close()
			}
			refused = errors.Is(err, syscall.ECONNREFUSED)
		}
	case p.listener == nil:
		listener, err := net.Listen("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		p.serve(listener)
	}
}

// serve carries the connections of a listener. It needs p.mu, or nobody else
// knowing p.
func (p *Proxy) serve(listener net.Listener) {
	accepts := make(chan struct{})
	p.listener, p.accepts = listener, accepts
	p.work.Go(func() {
		defer close(accepts)
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.carry(client) })
		}
	})
}

// unlisten needs p.mu.
func (p *Proxy) unlisten() {
	if p.listener != nil {
		p.listener.Close()
		<-p.accepts // until then the kernel may take one more connection
		p.listener = nil
	}
}

// stop ends everything and waits for it.
func (p *Proxy) stop() {
	p.mu.Lock()
	p.unlisten()
	for c := range p.conns {
		c.cut()
	}
	p.conns = nil
	p.mu.Unlock()
	p.work.Wait()
}
