package explore

import (
	"github.com/redlatch/redlatch/internal/script"
)

// state is one moment of a world: the keys in Redis, what each client and each peer was promised, and a
// request that may still arrive. Times count from now on, in milliseconds. States are compared as a whole.
type state struct {
	keys    int32
	clients [4]client
	peers   [2]peer
	late    int32 // a request that may still be carried out
	faults  uint8 // that may still happen
	permits int8  // that were made
	resizes uint8 // changes of their number that may still happen
	ticket  ticket
}

// client is one redlatch owner of one lock.
type client struct {
	number        uint8  // of its owner; 0: it wants nothing
	want          uint8  // what it asked for last
	reads, writes uint8  // holds
	most          uint8  // the highest count of read holds that Redis may have been told
	promised      int32  // until when Redis has confirmed its holds
	fenced        bool   // it has a token
	over          bool   // the release of the write side was not answered
	from          ticket // whose hold it asks for
}

// peer is one thread of a Redisson client.
type peer struct {
	count uint8
	reads bool
	until int32 // the end of its lease
}

// op is what a request is for.
type op uint8

const (
	opLock op = iota
	opLockAll
	opRaise
	opLower
	opFree
	opRenew
	opGuard
	opKeepAlive
	opPeer
	opResize
	opCount
	opUndo
	opMove
	opMoveBack
)

func (o op) String() string {
	return [...]string{
		"lock", "lock of both", "re-entry", "partial release", "release", "renewal", "renewal by a watchdog", "keep-alive", "request", "resizing", "request", "cancellation", "move", "move back",
	}[o]
}

// answer is what a reply says.
type answer uint8

const (
	unclear answer = iota
	granted
	refused
	gone
	remains
	freed
)

func (a answer) String() string {
	return [...]string{"unclear", "granted", "refused", "gone", "holds remain", "freed"}[a]
}

func (c *client) held() uint8 { return c.reads + c.writes }

func (c *client) counts() script.Counts {
	return script.Counts{Reads: int(c.reads), Writes: int(c.writes)}
}

// believes says that it takes itself for a holder: from when Redis grants it, which is earlier than a client
// can know, to when Redis may end it, which is later than a client trusts it.
func (c *client) believes() bool { return c.held() > 0 && c.promised > 0 }

// heard takes the answer to a request.
func (w *world) heard(s *state, r *request, said answer) {
	c := &s.clients[r.who]
	switch {
	case c.number != r.number: // the owner has ended
	case r.op == opLockAll && said == granted:
		c.confirm(r)
		s.clients[r.who+1].confirm(r)
	case r.op == opMove && said == granted:
		c.confirm(r)
		c.most, c.from = c.reads, ticket{}
	case r.op == opFree || r.op == opMoveBack || said == gone || r.op == opRaise && said != granted:
		*c = client{}
	case r.op == opRenew && said == granted:
		c.promised = max(c.promised, r.lease)
	case r.op == opLower || said == granted:
		c.confirm(r)
	}
}

// confirm notes that Redis has confirmed the counts of a request.
func (c *client) confirm(r *request) {
	c.reads, c.writes = uint8(r.counts.Reads), uint8(r.counts.Writes)
	c.promised = max(c.promised, r.lease)
	c.fenced = c.fenced || r.tokens > 0
}

// giveUp has the sender of a request go on without an answer.
func (w *world) giveUp(s *state, r *request) {
	switch c := &s.clients[r.who]; r.op {
	case opFree, opMoveBack:
		*c = client{}
	case opLower:
		c.over = c.over || c.writes > 0 && r.counts.Writes == 0
		c.reads, c.writes = uint8(r.counts.Reads), uint8(r.counts.Writes)
	}
}

// pass lets time pass. A client with a watchdog does not lose a hold by time alone: it asks Redis.
func (w *world) pass(s *state, ms int32) {
	for i := range w.kinds {
		c := &s.clients[i]
		if c.promised = max(c.promised-ms, 0); c.held() > 0 && c.promised == 0 && !w.guarded {
			*c = client{}
		}
	}
	for i := range s.peers {
		if p := &s.peers[i]; p.until > ms {
			p.until -= ms
		} else {
			*p = peer{}
		}
	}
}
