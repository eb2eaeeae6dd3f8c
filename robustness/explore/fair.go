package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// fair is a fair mutex. All times of its queue are by the server's clock.
type fair struct {
	exclusive
	script script.Fair
}

// slot is how long Redisson gives a waiter in its turn.
const slot = 5 * second

func newFair() fair {
	f := script.NewFair(lockName, slot*time.Millisecond, protocol.Plain)
	return fair{exclusive{f, lockName}, f}
}

// keepAlive is a waiting client's keep-alive. It removes the client's other owners from the queue.
func (f fair) keepAlive(w *world, s state, i int, yield move) {
	c := &s.clients[i]
	owner, queue := owners[i][c.number], w.redis.all[s.keys].fairQueue().waiters
	if c.number == 0 || c.held() > 0 || !slices.Contains(queue, owner) {
		return
	}
	var left []string
	for _, waiter := range queue {
		if strings.HasPrefix(waiter, uuid(i)) && waiter != owner {
			left = append(left, waiter)
		}
	}
	to := s
	r := w.redis.request(question{op: opKeepAlive, who: i, number: c.number}, f.script.KeepAlive(uuid(i), []string{owner}, left))
	_, fault := w.carryOut(&to, r)
	yield(to, fault, func() string { return w.describe(r, "does a %s", r.op) })
}

// fairQueue is the queue of a fair lock.
type fairQueue struct {
	waiters    []string
	deadlines  map[string]float64
	keepAlives map[string]float64 // by client
	fault      string
}

func (k *keys) fairQueue() *fairQueue {
	if k.queue != nil {
		return k.queue
	}
	q := &fairQueue{deadlines: map[string]float64{}, keepAlives: map[string]float64{}}
	for _, it := range k.items {
		switch it.Name {
		case protocol.FairQueue(lockName):
			q.waiters = it.Words
		case protocol.FairDeadlines(lockName):
			for i, owner := range it.Words {
				q.deadlines[owner] = it.Scores[i]
			}
		case protocol.FairKeepAlives(lockName):
			for i, client := range it.Words {
				q.keepAlives[client] = it.Scores[i]
			}
		}
	}
	if sorted := slices.Sorted(maps.Keys(q.deadlines)); !slices.Equal(slices.Sorted(slices.Values(q.waiters)), sorted) {
		q.fault = "queue and deadlines do not agree"
	}
	k.queue = q
	return q
}

// A client without a keep-alive is dead after the time silence. If no client at all sent one for the time gap, there was an
// outage. After an outage, all clients count as live for the time silence. The next outage is noted after the time rest.
const silence, gap, rest = -3500, -2 * second, -10 * second

// lives says that a request must not overtake a waiter. Redisson knows only the deadlines.
// redlatch clients extend theirs by keep-alives, which may be far apart here. So what a Redisson
// request does to redlatch waiters is not checked.
func (q *fairQueue) lives(owner string, by op) bool {
	if at, ours := q.keepAlives[owner[:len(uuid(0))]]; ours {
		return by != opPeer && (at > silence || q.outage())
	}
	return q.deadlines[owner] > 0
}

// outage says that silent clients count as live because of an outage.
func (q *fairQueue) outage() bool {
	const mark = "!:outage"
	ended, heard := float64(longAgo), float64(longAgo)
	for client, at := range q.keepAlives {
		if client == mark {
			ended = at
		} else {
			heard = max(heard, at)
		}
	}
	return ended > silence || ended <= rest && ended <= heard && heard <= gap
}

func (f fair) checkRequest(before *keys, r *request, done *outcome) string {
	was, is := before.fairQueue(), done.keys.fairQueue()
	held, free := before.lock(lockName), done.keys.lock(lockName) == nil
	got := done.answer == granted && (r.op == opLock || r.op == opPeer && held == nil && !free)
	for _, owner := range was.waiters {
		mine := owner == r.owner() || r.op == opKeepAlive && slices.Contains(r.words, owner)
		switch {
		case mine && got:
			got = false // it was its turn
		case mine:
		case was.lives(owner, r.op) && got && !slices.Contains(held.names(), r.owner()):
			return fmt.Sprintf("%s is overtaken", owner)
		case was.lives(owner, r.op) && !slices.Contains(is.waiters, owner):
			return fmt.Sprintf("%s waits, and is thrown out", owner)
		}
	}
	stay := slices.DeleteFunc(slices.Clone(was.waiters), func(owner string) bool { return !slices.Contains(is.waiters, owner) })
	if is.fault != "" {
		return is.fault
	} else if !slices.Equal(stay, is.waiters[:len(stay)]) {
		return "somebody is queued before those who wait"
	}
	if r.lowers() && free && len(is.waiters) > 0 && (held != nil || was.waiters[0] != is.waiters[0]) &&
		!done.announced(protocol.LockChannel(lockName)+":"+is.waiters[0]) {
		return "the lock is free and the next in turn is not told"
	}
	if fault := kept(held, done.keys.lock(lockName), r); fault != "" {
		return fault
	}
	switch {
	case !free && len(done.keys.lock(lockName).fields) != 1:
		return "a mutex has one owner"
	case r.op == opLock && done.answer == refused && held == nil && len(was.waiters) == 0:
		return "a free lock is refused"
	case r.op == opLock && done.answer == refused && !slices.Contains(is.waiters, r.owner()):
		return "who is refused does not wait"
	case done.answer == granted && (r.op == opLock || r.op == opRaise) && slices.Contains(is.waiters, r.owner()):
		return "who holds the lock still waits"
	}
	return ""
}

// progress checks that a new client that asks once a second gets the lock in the end, if all others
// fall silent.
func (f fair) progress(s *redis, k *keys) string {
	owner := owners[firstPeer-1][1]
	r := s.request(question{op: opLock, who: firstPeer - 1, number: 1}, f.Acquire(owner, script.Counts{Writes: 1}, slot*time.Millisecond, true))
	var way []*keys
	for ; !k.served; k = s.after(k, second) {
		if slices.Contains(way, k) {
			return "if all others fell silent, nobody would get the lock"
		}
		way = append(way, k)
		done := s.run(k, r)
		if got, err := script.ReadAcquired(done.reply); err == nil && got.Granted {
			break
		}
		k = done.keys
	}
	for _, k := range way {
		k.served = true
	}
	return ""
}
