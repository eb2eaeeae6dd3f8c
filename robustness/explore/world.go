package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// world is what is explored: who contends for what, and what may go wrong.
type world struct {
	name    string
	kinds   []kind // that each client, and the first for all peers, has to do with
	pair    bool   // the first two clients, and the next two, take a Multi together
	redis   *redis
	start   state
	wants   []want
	most    int   // holds of one owner
	queues  bool  // a refusal leaves a waiter in a queue
	guarded bool  // by a watchdog
	tick    int32 // by which time passes
	abreast int   // requests under way at the same time, at most
	late    int   // requests that are late at the same time, at most
	peers   []thread
	cached  map[question]*request
}

// kind is a kind of lock, as in the root package, or one of several locks.
type kind interface {
	acquire(owner string, counts script.Counts, lease time.Duration) script.Call
	release(owner string, most int, counts script.Counts, lease time.Duration) script.Call
	renewal(owner string, counts script.Counts, over bool, lease time.Duration) script.Renewal
	lock() string
	// judge says what is wrong with what a request has done, or nothing.
	judge(before *keys, r *request, done *outcome) string
	// believe says what is wrong with what a client believes, or nothing.
	believe(w *world, k *keys, who int, c *client) string
}

// move is told of one thing that may happen next: the state after it, what is wrong with it,
// and how to tell it.
type move func(to state, fault string, say func() string)

// moves tells all that may happen next.
func (w *world) moves(s state, yield move) {
	for i := range w.kinds {
		w.verbs(s, i, yield)
		w.flights(s, i, false, yield)
		w.flights(s, i, true, yield)
		if w.guarded {
			w.guard(s, i, yield)
		}
		if f, waits := w.kinds[i].(fair); waits {
			f.beat(w, s, i, yield)
		}
	}
	for i := range w.peers {
		w.peers[i].moves(w, s, i, yield)
	}
	for i, id := range s.late {
		if id != 0 {
			to := s
			to.late[i] = 0
			to.sort()
			r := w.redis.requests[id]
			fault := w.carryOut(&to, r, nil)
			yield(to, fault, func() string { return w.tell(r, "a late %s is carried out", r.op) })
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

// verbs are what a client may do that has no request under way.
func (w *world) verbs(s state, i int, yield move) {
	c := &s.clients[i]
	n := c.held()
	if n > 0 && c.renewal.request == 0 && w.renewed(c) > 0 {
		to := s
		to.clients[i].renewal = w.renew(i, c)
		w.send(to, i, true, yield)
	}
	if c.verb.request != 0 || c.joined {
		return
	}
	if w.pair && i%2 == 0 && c.stay == 0 && s.clients[i+1].stay == 0 {
		to := s
		for j := i; j <= i+1; j++ {
			to.clients[j].stay, to.clients[j].joined = w.unused(&s, j), j > i
		}
		w.askAll(&to, i)
		w.send(to, i, false, yield)
	}
	for k, want := range w.wants {
		var to state
		switch {
		case n == 0 && c.stay == 0:
			to = s
			to.clients[i].stay, to.clients[i].want = w.unused(&s, i), uint8(k)
			w.ask(&to, i, opLock, uint8(k))
		case n == 0 && c.want == uint8(k):
			to = s
			w.ask(&to, i, opLock, uint8(k))
		case n > 0 && n < w.most && (want.read || w.counts(c).Writes > 0):
			to = s
			w.ask(&to, i, opRaise, uint8(k))
		default:
			continue
		}
		w.send(to, i, false, yield)
	}
	switch {
	case n == 0 && c.stay != 0:
		to := s
		w.giveUp(&to, i)
		yield(to, "", func() string { return fmt.Sprintf("%s gives up", name(i)) })
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

// end ends the holds, as their holder wishes.
func (c *client) end() {
	c.holds, c.trusted, c.promised, c.ended = [3]uint8{}, 0, 0, true
}

// giveUp ends an attempt. What it may have taken, or where it stands, goes back.
func (w *world) giveUp(s *state, i int) {
	c := &s.clients[i]
	c.ended = true
	if c.unsettled || c.standing {
		w.ask(s, i, opTakeBack, 0)
	}
	c.settle()
}

// carryOut has the server carry out a request, whose flight may be over.
func (w *world) carryOut(s *state, r *request, f *flight) (fault string) {
	before := w.redis.all[s.keys]
	done := w.redis.run(before, r)
	s.keys = done.keys.id
	if !done.read {
		done.read = true
		done.answer, done.fault = read(r.op, done)
		if done.fault == "" {
			done.fault = w.judge(before, r, done)
		}
	}
	if f != nil {
		f.answer = done.answer
	}
	return done.fault
}

// tell is a line of a story about a client, or a peer, that sent a request.
func (w *world) tell(r *request, format string, args ...any) string {
	return fmt.Sprintf("%s:%d %-44s %s", name(r.who), r.stay, fmt.Sprintf(format, args...), short.Replace(strings.Join(r.words, " ")))
}

func (o op) String() string {
	return [...]string{
		"", "lock", "lock of both", "re-entry", "partial release", "release", "take-back", "renewal", "renewal by a watchdog", "beat", "request",
	}[o]
}

func (a answer) String() string {
	return [...]string{"", "granted", "refused", "gone", "holds remain", "freed", "unclear"}[a]
}
