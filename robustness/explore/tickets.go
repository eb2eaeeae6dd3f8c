package explore

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// ticket is a hold that is on its way to whoever attaches it. The zero value is none.
type ticket struct {
	who, number uint8 // of its owner
	read        bool
}

func (t ticket) owner() string { return owners[t.who][t.number] }

// Move has the id of a permit be the name of its owner.
func (p permits) Move(from, to string, read bool, lease time.Duration) script.Call {
	return p.Permits.Move(hex.EncodeToString([]byte(from)), hex.EncodeToString([]byte(to)), read, lease)
}

// handOver are the moves of a client that makes a ticket, attaches one, or gives that up: it moves the hold back. Anybody
// may attach while there is a ticket, also when another has.
func (w *world) handOver(s state, i int, yield move) {
	c, to := s.clients[i], s
	d := &to.clients[i]
	switch {
	case c.held() == 1 && s.ticket.number == 0:
		to.ticket, to.clients[i] = ticket{uint8(i), c.number, c.reads == 1}, client{}
		yield(to, "", func() string { return name(i) + " makes a ticket" })
	case c.number == 0 && s.ticket.number != 0:
		d.number, d.from = w.unused(&s, i), s.ticket
		w.send(to, w.request(i, d, w.attaching(d, opMove)), yield)
		s.ticket = ticket{}
		yield(s, "", func() string { return "the ticket is thrown away" })
	case c.from.number != 0:
		w.send(s, w.request(i, &c, w.attaching(&c, opMove)), yield)
		w.send(s, w.request(i, &c, w.attaching(&c, opMoveBack)), yield)
	}
}

// attaching asks for the hold of a ticket, or moves it back.
func (w *world) attaching(c *client, op op) question {
	q := question{op: op, from: c.from, counts: script.Counts{Writes: 1}, lease: w.longest()}
	if c.from.read {
		q.counts = script.Counts{Reads: 1}
	}
	return q
}

// move is the call of such a request.
func (w *world) move(q question, lease time.Duration) script.Call {
	from, to := q.from.owner(), owners[q.who][q.number]
	if q.op == opMoveBack {
		from, to, lease = to, from, time.Millisecond
	}
	return w.kinds[q.who].Move(from, to, q.from.read, lease)
}

// passes says that an owner's hold is on its way, for somebody.
func (s *state) passes(who int, number uint8) bool {
	is := func(t ticket) bool { return int(t.who) == who && t.number == number }
	return is(s.ticket) || slices.ContainsFunc(s.clients[:], func(c client) bool { return is(c.from) })
}

// heir is the field, or the id, to which a request moves a hold of that name, "" if it moves none.
func (r *request) heir(name string) string {
	if (r.op == opMove || r.op == opMoveBack) && r.words[0] == name {
		return r.words[1]
	}
	return ""
}
