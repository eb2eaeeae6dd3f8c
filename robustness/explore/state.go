package explore

import (
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// state is one moment of a world: what is in Redis, what each client and each peer believes
// and has under way, and what still lies in connections that nobody reads from any more.
// Times count from now on, in milliseconds. States are compared as a whole.
type state struct {
	keys    int32
	clients [4]client
	peers   [2]peer
	late    [2]int32 // requests that may still be carried out
	faults  uint8    // that may still happen
}

// client is one owner of ours on one lock, as the type tenure of the root package has it.
type client struct {
	stay     uint8 // the number of its name; 0: it wants nothing
	want     uint8 // what it wants first
	holds    [3]uint8
	most     uint8 // the highest count of read holds that Redis may have been told
	trusted  int32 // the end of what may be trusted
	promised int32 // the end of what Redis has confirmed
	fenced   bool  // it has a token

	ended     bool // but a request is under way
	unsettled bool // a request was sent whose outcome is not known
	standing  bool // in a queue
	over      bool // the release of the write side was not answered
	joined    bool // its request is that of the client before it

	verb, renewal flight
}

// peer is one thread of a Redisson client.
type peer struct {
	count uint8
	reads bool
	until int32 // the end of its lease
}

// flight is a request of a client under way.
type flight struct {
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
	opTakeBack
	opRenew
	opGuard
	opBeat
	opPeer
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
	fenced bool
}

// underWay is how many requests of clients are.
func (s *state) underWay() (n int) {
	for i := range s.clients {
		for _, f := range []*flight{&s.clients[i].verb, &s.clients[i].renewal} {
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

// confirm takes note of what Redis confirmed.
func (c *client) confirm(f flight) {
	c.trusted = max(c.trusted, trust(f))
	c.promised = max(c.promised, f.asked+f.span)
}

// trust is the end of what a confirmed request can be trusted for.
func trust(f flight) int32 {
	asked := epoch.Add(time.Duration(f.asked) * time.Millisecond)
	return int32(renew.Trust(asked, time.Duration(f.span)*time.Millisecond).Sub(epoch).Milliseconds())
}

// lose ends all holds.
func (c *client) lose() {
	c.holds, c.trusted, c.promised, c.ended = [3]uint8{}, 0, 0, true
	c.settle()
}

// settle forgets a stay that is over and has no request under way.
func (c *client) settle() {
	if c.ended && c.verb.request == 0 {
		*c = client{renewal: c.renewal}
	}
}

// pass lets time pass. Whoever is guarded by a watchdog does not believe to have lost what was to
// be renewed in time: it asks.
func (w *world) pass(s *state, ms int32) {
	for i := range w.kinds {
		c := &s.clients[i]
		c.verb.pass(ms)
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

// pass makes a request older, up to an age at which it has nothing left to say.
func (f *flight) pass(ms int32) {
	if f.request != 0 {
		f.asked = max(f.asked-ms, -2*f.span)
	}
}
