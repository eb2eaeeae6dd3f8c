package redistest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// proxied is one connection through a proxy.
type proxied struct {
	proxy  *Proxy
	client net.Conn
	server net.Conn
	once   sync.Once
	gone   chan struct{}        // closed by cut
	lost   atomic.Pointer[span] // the replies not to pass on; nil without
}

// span is a part of the stream of replies: from the first mark to the last.
type span struct{ first, last []byte }

// carry takes a connection to the server and back, until it is cut.
func (p *Proxy) carry(client net.Conn) {
	p.mu.Lock()
	upstream := p.upstream
	p.mu.Unlock()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		client.Close()
		return
	}
	c := &proxied{proxy: p, client: client, server: server, gone: make(chan struct{})}
	if !p.enter(c) {
		c.cut()
		return
	}
	defer p.leave(c)
	defer c.cut()
	var replies sync.WaitGroup
	replies.Go(func() {
		defer c.cut()
		c.carryReplies()
	})
	c.carryRequests()
	c.cut()
	replies.Wait()
}

func (p *Proxy) enter(c *proxied) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns != nil {
		p.conns[c] = struct{}{}
	}
	return p.conns != nil
}

func (p *Proxy) leave(c *proxied) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// cut ends the connection on both sides.
func (c *proxied) cut() {
	c.once.Do(func() {
		close(c.gone)
		c.client.Close()
		c.server.Close()
	})
}

// carryRequests passes requests on, one by one, until the connection ends.
func (c *proxied) carryRequests() {
	from := bufio.NewReader(c.client)
	for {
		text, err := proto.Read(from)
		if err != nil || !c.pass(true) {
			return
		}
		raw := []byte(text)
		hit, unsent := c.proxy.hit(raw)
		if hit && unsent {
			return
		}
		if hit {
			raw = c.condemn(raw)
		}
		if _, err := c.server.Write(raw); err != nil {
			return
		}
		if hit {
			<-c.gone // carryReplies cuts; nothing behind this request may pass
			return
		}
	}
}

// hit tells whether a strike meets the request.
func (p *Proxy) hit(raw []byte) (hit, unsent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.strikes {
		if s.left > 0 && s.match(raw) {
			s.left--
			return true, s.unsent
		}
	}
	return false, false
}

// condemn encloses a request in two PINGs of the proxy's own. Their replies
// mark the part of the stream that must not pass; the last one also proves
// that the server has carried the request out.
func (c *proxied) condemn(raw []byte) []byte {
	before, after := rand.Text(), rand.Text()
	c.lost.Store(&span{first: []byte(proto.String(before)), last: []byte(proto.String(after))})
	return slices.Concat([]byte(proto.Strings("PING", before)), raw, []byte(proto.Strings("PING", after)))
}

// carryReplies passes replies on until the connection ends.
func (c *proxied) carryReplies() {
	buffer := make([]byte, 64<<10)
	var seen []byte // since the request was condemned
	for {
		n, err := c.server.Read(buffer)
		if err != nil || !c.pass(false) {
			return
		}
		if lost := c.lost.Load(); lost != nil {
			seen = append(seen, buffer[:n]...)
			if !bytes.Contains(seen, lost.last) {
				continue
			}
			innocent, _, _ := bytes.Cut(seen, lost.first)
			c.client.Write(innocent)
			return
		}
		if _, err := c.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// pass waits while there is a black hole, and, for requests, for the delay. It
// returns false when the connection has ended meanwhile.
func (c *proxied) pass(isRequest bool) bool {
	hole, delay := c.proxy.obstacles()
	if isRequest && delay > 0 {
		select {
		case <-time.After(delay):
		case <-c.gone:
			return false
		}
	}
	for ; hole != nil; hole, _ = c.proxy.obstacles() {
		select {
		case <-hole:
		case <-c.gone:
			return false
		}
	}
	return true
}

func (p *Proxy) obstacles() (hole chan struct{}, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hole, p.delay
}
