package explore

import (
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/internal/script"
)

// world is what is explored: the contenders, their locks, and the faults.
type world struct {
	name     string
	kinds    []kind // that each client, and the first for all peers, has to do with
	pair     bool   // the first two clients, and the next two, take a Multi together
	redis    *redis
	start    state
	wants    []want
	maxHolds uint8 // of one owner
	guarded  bool  // by a watchdog
	tickets  bool  // holds go from client to client
	tick     int32 // by which time passes
	ttl      int32 // of the semaphore, 0: it stays
	peers    []thread
	cached   map[question]*request
}

// kind is a kind of lock, as in the root package, or one of several locks.
type kind interface {
	script.Mode
	lock() string
	// checkRequest says what is wrong with the effect of a request, or nothing.
	checkRequest(before *keys, r *request, done *outcome) string
	// checkBelief says what is wrong with a client's belief that it holds the lock, or nothing.
	checkBelief(k *keys, who int, c *client) string
}

// want is what a client may ask for.
type want struct {
	read   bool
	lease  int32
	tokens int64 // how many it takes at once, 0: none
}

// move takes one thing that may happen next: the state after it, what is wrong with it, and its
// description.
type move = func(to state, fault string, say func() string)

// moves yields everything that may happen next.
func (w *world) moves(s state, yield move) {
	for i := range w.kinds {
		if w.tickets {
			w.handOver(s, i, yield)
		}
		if s.clients[i].from.number != 0 {
			continue
		}
		w.acquisitions(s, i, yield)
		w.releases(s, i, yield)
		if w.guarded {
			w.guard(s, i, yield)
		}
		if f, waits := w.kinds[i].(fair); waits {
			f.keepAlive(w, s, i, yield)
		}
	}
	for i := range w.peers {
		w.peers[i].moves(w, s, i, yield)
	}
	w.resize(s, yield)
	if s.late != 0 {
		to, r := s, w.redis.requests[s.late]
		to.late = 0
		said, fault := w.carryOut(&to, r)
		if r.op == opRenew && said == granted { // its sender may have waited for this one
			w.heard(&to, r, said)
		}
		yield(to, fault, func() string { return w.describe(r, "a late %s is carried out", r.op) })
	}
	to := s
	w.pass(&to, w.tick)
	to.keys = w.redis.after(w.redis.all[s.keys], w.tick).id
	if to != s {
		yield(to, "", func() string { return fmt.Sprintf("%d ms pass", w.tick) })
	}
}

// acquisitions are the moves of a client that wants a hold, or one more.
func (w *world) acquisitions(s state, i int, yield move) {
	c := s.clients[i]
	if w.pair && i%2 == 0 && c.number == 0 && s.clients[i+1].number == 0 {
		to := s
		to.clients[i].number, to.clients[i+1].number = w.unused(&s, i), w.unused(&s, i+1)
		w.send(to, w.requestAll(&to, i), yield)
	}
	for k, want := range w.wants {
		to, q := s, question{op: opLock, counts: c.counts(), lease: want.lease, tokens: want.tokens}
		d := &to.clients[i]
		switch n := c.held(); {
		case n == 0 && c.number == 0:
			d.number = w.unused(&s, i)
		case n == 0 && c.want == uint8(k):
		case 0 < n && n < w.maxHolds && (want.read || c.writes > 0):
			q.op = opRaise
		default:
			continue
		}
		if want.read {
			q.counts.Reads++
			d.most = max(c.most, uint8(q.counts.Reads))
		} else {
			q.counts.Writes++
		}
		if c.fenced {
			q.tokens = 0
		}
		d.want = uint8(k)
		w.send(to, w.request(i, d, q), yield)
	}
}

// releases are the moves of a client that renews its holds, gives some back, or gives up an attempt.
func (w *world) releases(s state, i int, yield move) {
	c := s.clients[i]
	lease := w.wants[c.want].lease
	if c.held() > 0 {
		w.send(s, w.request(i, &c, question{op: opRenew, counts: c.counts(), lease: lease, over: c.over}), yield)
	}
	if c.held() > 1 {
		for _, less := range []script.Counts{{Reads: 1}, {Writes: 1}} {
			if left := (script.Counts{Reads: int(c.reads) - less.Reads, Writes: int(c.writes) - less.Writes}); min(left.Reads, left.Writes) >= 0 {
				w.send(s, w.request(i, &c, question{op: opLower, counts: left, most: c.most, lease: lease}), yield)
			}
		}
	} else if c.number != 0 {
		w.send(s, w.request(i, &c, question{op: opFree, most: c.most}), yield)
	}
}

// send yields what may become of a request. It is answered at once. Or a copy of it is late. Or it is late
// itself, perhaps for ever, and its sender gives it up.
func (w *world) send(s state, r *request, yield move) {
	w.answer(s, r, "", yield)
	if s.faults > 0 && s.late == 0 {
		s.faults--
		s.late = r.id
		w.answer(s, r, ", and a copy is late", yield)
		w.giveUp(&s, r)
		yield(s, "", func() string { return w.describe(r, "gives up a %s, which is late", r.op) })
	}
}

func (w *world) answer(s state, r *request, how string, yield move) {
	said, fault := w.carryOut(&s, r)
	w.heard(&s, r, said)
	yield(s, fault, func() string { return w.describe(r, "does a %s: %s%s", r.op, said, how) })
}

// carryOut makes the server carry out a request. It returns the answer, and what is wrong with it.
func (w *world) carryOut(s *state, r *request) (answer, string) {
	before := w.redis.all[s.keys]
	done := w.redis.run(before, r)
	s.keys = done.keys.id
	if !done.read {
		done.read = true
		done.answer, done.fault = read(r.op, done)
		if done.fault == "" {
			done.fault = w.checkRequest(before, r, done)
		}
	}
	return done.answer, done.fault
}

// describe is a line of a trace about a client, or a peer, that sent a request.
func (w *world) describe(r *request, format string, args ...any) string {
	return fmt.Sprintf("%s:%d %-44s %s", name(r.who), r.number, fmt.Sprintf(format, args...), short.Replace(strings.Join(r.words, " ")))
}
