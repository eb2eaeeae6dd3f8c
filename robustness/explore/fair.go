package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// fair is a fair mutex. All times of its queue are moments of the server's clock.
type fair struct {
	exclusive
	script script.Fair
}

// slot is the time that a waiter has in its turn, as Redisson sees it.
const slot = 5 * second

func newFair() fair {
	return fair{exclusive(lockName), script.NewFair(lockName, slot*time.Millisecond, protocol.Plain)}
}

func (f fair) acquire(owner string, counts script.Counts, lease time.Duration) script.Call {
	return f.script.Acquire(owner, lease, counts.Writes, true)
}

func (f fair) release(owner string, _ int, counts script.Counts, lease time.Duration) script.Call {
	return f.script.Release(owner, counts.Writes, lease)
}

// beat is the sign of life of a client that waits. It withdraws what else of it stands in the queue.
func (f fair) beat(w *world, s state, i int, yield move) {
	c := &s.clients[i]
	if !c.standing || c.held() > 0 || c.ended {
		return
	}
	owner := owners[i][c.stay]
	var left []string
	for _, waiter := range w.redis.all[s.keys].line().waiters {
		if strings.HasPrefix(waiter, uuid(i)) && waiter != owner {
			left = append(left, waiter)
		}
	}
	to := s
	r := w.redis.request(opBeat, i, c.stay, f.script.KeepAlive(uuid(i), []string{owner}, left))
	fault := w.carryOut(&to, r, nil)
	yield(to, fault, func() string { return w.tell(r, "does a %s", r.op) })
}

// line is the queue of a fair lock.
type line struct {
	waiters   []string
	deadlines map[string]float64
	beats     map[string]float64 // by client
	fault     string
}

func (k *keys) line() *line {
	if k.queue != nil {
		return k.queue
	}
	l := &line{deadlines: map[string]float64{}, beats: map[string]float64{}}
	for _, it := range k.items {
		switch it.name {
		case protocol.FairQueue(lockName):
			l.waiters = it.words
		case protocol.FairDeadlines(lockName):
			for i, owner := range it.words {
				l.deadlines[owner] = it.scores[i]
			}
		case protocol.FairKeepAlives(lockName):
			for i, client := range it.words {
				l.beats[client] = it.scores[i]
			}
		}
	}
	for i, owner := range l.waiters {
		if _, known := l.deadlines[owner]; !known || slices.Contains(l.waiters[:i], owner) {
			l.fault = "queue and deadlines do not agree"
		}
	}
	if len(l.deadlines) != len(l.waiters) {
		l.fault = "queue and deadlines do not agree"
	}
	k.queue = l
	return l
}

// silence is after what time a client is dead.
const silence = -3500

// lives says that a waiter must not be passed over by somebody. Redisson knows deadlines alone, and
// clients of ours put theirs off by beats, which here may be far apart: what it does to them is
// not judged.
func (l *line) lives(owner string, by op) bool {
	if at, ours := l.beats[owner[:len(uuid(0))]]; ours {
		return at > silence && by != opPeer
	}
	return l.deadlines[owner] > 0
}

func (f fair) judge(before *keys, r *request, done *outcome) string {
	was, is := before.line(), done.keys.line()
	held, free := before.lock(lockName), done.keys.lock(lockName) == nil
	got := done.answer == granted && (r.op == opLock || r.op == opPeer && held == nil && !free)
	for _, owner := range was.waiters {
		mine := owner == r.owner() || r.op == opBeat && slices.Contains(r.words, owner)
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
	if is.fault != "" {
		return is.fault
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

// progress says that a newcomer who asks once a second would not get the lock in the end, if
// everybody else fell silent.
func (f fair) progress(s *redis, k *keys) string {
	owner := owners[firstPeer-1][1]
	r := s.request(opLock, firstPeer-1, 1, f.script.Acquire(owner, slot*time.Millisecond, 1, true))
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
