package explore

import (
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// state is one moment of a world: the keys in Redis, what each client and each peer believes and
// has under way, and the requests that may still arrive on broken connections. Times count from
// now on, in milliseconds. States are compared as a whole.
type state struct {
	keys    int32
	clients [4]client
	peers   [2]peer
	late    [2]int32 // requests that may still be carried out
	faults  uint8    // that may still happen
	permits int8     // that were made
	resizes uint8    // changes of their number that may still happen
}

// client is one redlatch owner of one lock: the model of a grant.
type client struct {
	number   uint8 // of its owner; 0: it wants nothing
	want     uint8 // what it wants first
	holds    [3]uint8
	most     uint8 // the highest count of read holds that Redis may have been told
	trusted  int32 // until when the hold may be trusted
	promised int32 // until when Redis has confirmed it
	fenced   bool  // it has a token

	ended       bool // but a request is under way
	unconfirmed bool // a request was sent whose outcome is not known
	queued      bool // in a queue
	over        bool // the release of the write side was not answered
	joined      bool // its request is that of the client before it

	call, renewal pending
}

// peer is one thread of a Redisson client.
type peer struct {
	count uint8
	reads bool
	until int32 // the end of its lease
}

// pending is a request of a client under way.
type pending struct {
	request     int32 // 0: none
	asked, span int32
	want        uint8
	answer      answer // once it has been carried out
}

// op is what a request is for.
type op uint8

const (
	opLock op = iota + 1
	opLockAll
	opRaise
	opLower
	opFree
	opCancel
	opRenew
	opGuard
	opKeepAlive
	opPeer
	opResize
	opCount
	opUndo
)

// answer is what a reply says.
type answer uint8

const (
	unanswered answer = iota
	granted
	refused
	gone
	remains
	freed
	unclear
)

// want is what a client may ask for.
type want struct {
	read   bool
	lease  int32
	fixed  bool
	tokens int64 // how many it takes at once, 0: none
}

// underWay is how many requests of clients are.
func (s *state) underWay() (n int) {
	for i := range s.clients {
		for _, f := range []*pending{&s.clients[i].call, &s.clients[i].renewal} {
			if f.request != 0 {
				n++
			}
		}
	}
	return n
}

func (c *client) held() (n int) {
	for n < len(c.holds) && c.holds[n] != 0 {
		n++
	}
	return n
}

// believes says that it takes itself for a holder.
func (c *client) believes() bool { return c.held() > 0 && c.trusted > 0 }

func (c *client) add(want uint8) { c.holds[c.held()] = want + 1 }

// drop takes out the hold of an index.
func (c *client) drop(i int) (want uint8) {
	want = c.holds[i] - 1
	copy(c.holds[i:], c.holds[i+1:])
	c.holds[len(c.holds)-1] = 0
	return want
}

// confirm notes a confirmed request.
func (c *client) confirm(f pending) {
	c.trusted = max(c.trusted, trust(f))
	c.promised = max(c.promised, f.asked+f.span)
}

// trust is until when a confirmed request may be trusted.
func trust(f pending) int32 {
	asked := epoch.Add(time.Duration(f.asked) * time.Millisecond)
	return int32(renew.Trust(asked, time.Duration(f.span)*time.Millisecond).Sub(epoch).Milliseconds())
}

// lose ends all holds.
func (c *client) lose() {
	c.end()
	c.reset()
}

// reset forgets an owner that has ended and has no request under way.
func (c *client) reset() {
	if c.ended && c.call.request == 0 {
		*c = client{renewal: c.renewal}
	}
}

// pass lets time pass. A client with a watchdog does not lose a renewed hold by time alone: it asks
// Redis.
func (w *world) pass(s *state, ms int32) {
	for i := range w.kinds {
		c := &s.clients[i]
		c.call.pass(ms)
		c.renewal.pass(ms)
		c.trusted, c.promised = max(c.trusted-ms, 0), max(c.promised-ms, 0)
		if c.held() > 0 && c.trusted == 0 && !(w.guarded && w.renewed(c) > 0) {
			c.lose()
		}
	}
	for i := range s.peers {
		p := &s.peers[i]
		if p.until > ms {
			p.until -= ms
		} else {
			*p = peer{}
		}
	}
}

// pass makes a request older, up to an age at which its reply confirms nothing.
func (f *pending) pass(ms int32) {
	if f.request != 0 {
		f.asked = max(f.asked-ms, -2*f.span)
	}
}
