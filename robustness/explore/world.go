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
	maxHolds int   // holds of one owner
	queues   bool  // a refusal leaves a waiter in a queue
	guarded  bool  // by a watchdog
	tick     int32 // by which time passes
	ttl      int32 // of the semaphore, 0: it stays
	peers    []thread
	cached   map[question]*request
}

// How many requests may be under way, and late, at the same time.
const (
	maxUnderWay = 2
	maxLate     = 1
)

// kind is a kind of lock, as in the root package, or one of several locks.
type kind interface {
	script.Mode
	lock() string
	// checkRequest says what is wrong with the effect of a request, or nothing.
	checkRequest(before *keys, r *request, done *outcome) string
	// checkBelief says what is wrong with a client's belief that it holds the lock, or nothing.
	checkBelief(w *world, k *keys, who int, c *client) string
}

// move takes one thing that may happen next: the state after it, what is wrong with it, and its
// description.
type move = func(to state, fault string, say func() string)

// moves yields everything that may happen next.
func (w *world) moves(s state, yield move) {
	for i := range w.kinds {
		w.clientMoves(s, i, yield)
		w.deliver(s, i, false, yield)
		w.deliver(s, i, true, yield)
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
	for i, id := range s.late {
		if id != 0 {
			to := s
			to.late[i] = 0
			to.sort()
			r := w.redis.requests[id]
			fault := w.carryOut(&to, r, nil)
			yield(to, fault, func() string { return w.describe(r, "a late %s is carried out", r.op) })
		}
	}
	to := s
	w.pass(&to, w.tick)
	to.keys = w.redis.after(w.redis.all[s.keys], w.tick).id
	if to != s {
		yield(to, "", func() string { return fmt.Sprintf("%d ms pass", w.tick) })
	}
}

func (s *state) sort() {
	if s.late[0] < s.late[1] {
		s.late[0], s.late[1] = s.late[1], s.late[0]
	}
}

// clientMoves are the moves of a client without a request under way.
func (w *world) clientMoves(s state, i int, yield move) {
	c := &s.clients[i]
	n := c.held()
	if n > 0 && c.renewal.request == 0 && w.renewed(c) > 0 {
		to := s
		to.clients[i].renewal = w.renew(i, c)
		w.send(to, i, true, yield)
	}
	if c.call.request != 0 || c.joined {
		return
	}
	if w.pair && i%2 == 0 && c.number == 0 && s.clients[i+1].number == 0 {
		to := s
		for j := i; j <= i+1; j++ {
			to.clients[j].number, to.clients[j].joined = w.unused(&s, j), j > i
		}
		w.askAll(&to, i)
		w.send(to, i, false, yield)
	}
	for k, want := range w.wants {
		var to state
		switch {
		case n == 0 && c.number == 0:
			to = s
			to.clients[i].number, to.clients[i].want = w.unused(&s, i), uint8(k)
			w.ask(&to, i, opLock, uint8(k))
		case n == 0 && c.want == uint8(k):
			to = s
			w.ask(&to, i, opLock, uint8(k))
		case n > 0 && n < w.maxHolds && (want.read || w.counts(c).Writes > 0):
			to = s
			w.ask(&to, i, opRaise, uint8(k))
		default:
			continue
		}
		w.send(to, i, false, yield)
	}
	switch {
	case n == 0 && c.number != 0:
		to := s
		w.cancel(&to, i)
		yield(to, "", func() string { return fmt.Sprintf("%s cancels", name(i)) })
	case n == 1:
		to := s
		to.clients[i].end()
		w.ask(&to, i, opFree, 0)
		w.send(to, i, false, yield)
	}
	for h := 0; h < n && n > 1; h++ {
		if h > 0 && c.holds[h] == c.holds[h-1] {
			continue
		}
		to := s
		want := to.clients[i].drop(h)
		w.ask(&to, i, opLower, want)
		w.send(to, i, false, yield)
	}
}

// end ends the holds, as their holder asks.
func (c *client) end() {
	c.holds, c.trusted, c.promised, c.ended = [3]uint8{}, 0, 0, true
}

// cancel cancels an attempt. It releases what the attempt may have taken, and its place in a
// queue.
func (w *world) cancel(s *state, i int) {
	c := &s.clients[i]
	c.ended = true
	if c.unconfirmed || c.queued {
		w.ask(s, i, opCancel, 0)
	}
	c.reset()
}

// carryOut makes the server carry out a request. If f is not nil, the answer goes there.
func (w *world) carryOut(s *state, r *request, f *pending) (fault string) {
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
	if f != nil {
		f.answer = done.answer
	}
	return done.fault
}

// describe is a line of a trace about a client, or a peer, that sent a request.
func (w *world) describe(r *request, format string, args ...any) string {
	return fmt.Sprintf("%s:%d %-44s %s", name(r.who), r.number, fmt.Sprintf(format, args...), short.Replace(strings.Join(r.words, " ")))
}

func (o op) String() string {
	return [...]string{
		"", "lock", "lock of both", "re-entry", "partial release", "release", "cancelling release", "renewal", "renewal by a watchdog", "keep-alive", "request", "resizing", "request", "cancellation",
	}[o]
}

func (a answer) String() string {
	return [...]string{"", "granted", "refused", "gone", "holds remain", "freed", "unclear"}[a]
}
