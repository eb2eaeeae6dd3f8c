package explore

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// permits are the leased permits of a semaphore. A permit is a grant, so its client is that of a lock.
// Its id is the name of its owner, for the sake of traces.
type permits struct{ script.Permits }

var leased = permits{script.NewPermits(lockName, protocol.Plain)}

func (permits) lock() string { return lockName }

func (p permits) Acquire(owner string, counts script.Counts, lease time.Duration, wait bool) script.Call {
	return p.Permits.Acquire(hex.EncodeToString([]byte(owner)), counts, lease, wait)
}

func (p permits) Release(owner string, most int, counts script.Counts, lease time.Duration) script.Call {
	return p.Permits.Release(hex.EncodeToString([]byte(owner)), most, counts, lease)
}

func (p permits) Renewal(owner string, counts script.Counts, over bool, lease time.Duration) script.Renewal {
	return p.Permits.Renewal(hex.EncodeToString([]byte(owner)), counts, over, lease)
}

// semaphore is one as it is in Redis.
type semaphore struct {
	exists bool
	free   int              // by the counter
	left   map[string]int32 // for how long each id in use lives, 0 if it has expired
}

// semaphore reads the semaphore.
func (k *keys) semaphore() *semaphore {
	if k.permits != nil {
		return k.permits
	}
	s := &semaphore{left: map[string]int32{}}
	if it := k.find(lockName); it != nil {
		s.exists = true
		s.free, _ = strconv.Atoi(it.Words[0])
	}
	if it := k.find(leased.InUse); it != nil {
		for i, id := range it.Words {
			s.left[id] = max(int32(it.Scores[i]), 0)
		}
	}
	k.permits = s
	return s
}

// all is how many permits there are.
func (s *semaphore) all() int { return s.free + len(s.left) }

// available is how many permits a request can take.
func (s *semaphore) available() (n int) {
	n = s.free
	for _, left := range s.left {
		if left == 0 {
			n++
		}
	}
	return n
}

func (p permits) checkRequest(before *keys, r *request, done *outcome) string {
	was, is := before.semaphore(), done.keys.semaphore()
	mine, had := was.left[r.owner()]
	now, has := is.left[r.owner()]
	for id, left := range was.left {
		after, there := is.left[id]
		if heir := r.heir(id); !there && heir != "" {
			after, there = is.left[heir]
		}
		if left > 0 && id != r.owner() && (!there || after < left) {
			return fmt.Sprintf("the permit %s is taken away, or lives for less long", id)
		}
	}
	switch {
	case is.free > was.free && is.free > 0 && r.op != opPeer && !done.announced(p.Channel):
		return "permits came back and nobody was told"
	case r.op != opResize && is.exists && is.all() != was.all():
		return fmt.Sprintf("there were %d permits, and there are %d", was.all(), is.all())
	case r.op == opLock && done.answer == refused && (had || was.available() > 0):
		return "somebody is refused a permit that is available"
	case r.op == opLock && done.answer == granted && !had && is.free < 0:
		return "a permit is given out although more are held than there are"
	case (r.op == opLock || r.op == opRenew) && done.answer == granted && now < max(mine, asked(r)):
		return "a permit is granted for less than was asked for"
	case r.op == opRenew && done.answer == granted && mine == 0:
		return "a permit is renewed that is not held, or has expired"
	case r.op == opRenew && done.answer == gone && mine > 0:
		return "a permit is called lost that is not"
	case r.op == opFree && (has || (done.answer == freed) != (mine > 0)):
		return "a permit is not put back, or the holder is told otherwise"
	}
	return ""
}

// late is the reply to a copy of a request on a counter that comes after a later request.
const late = -9

// asked is the lease that an acquisition or a renewal asks for: its second argument.
func asked(r *request) int32 { return int32(redistest.Must(strconv.Atoi(r.words[1]))) }

func (permits) checkBelief(k *keys, who int, c *client) string {
	left, there := k.semaphore().left[owners[who][c.number]]
	if !there || !k.semaphore().exists {
		return "it believes to hold a permit, and has none"
	}
	return lives("the permit", left, c)
}

// checkPermits says what is wrong with the number of permits, or nothing.
func (w *world) checkPermits(s *state, k *keys) string {
	now, believers := k.semaphore(), 0
	for i := range w.kinds {
		if s.clients[i].believes() {
			believers++
		}
	}
	for i := range w.peers {
		if s.peers[i].count == 0 {
			continue
		}
		believers++
		if now.left[owners[firstPeer+i][1]] == 0 {
			return name(firstPeer+i) + ": it believes to hold a permit, and has none"
		}
	}
	switch {
	case !now.exists && len(now.left) > 0:
		return "permits are in use of a semaphore that is gone"
	case now.exists && now.all() != int(s.permits):
		return fmt.Sprintf("there are %d permits, and %d were made", now.all(), s.permits)
	case w.start.resizes == 0 && believers > int(w.start.permits):
		return fmt.Sprintf("%d hold one of %d permits", believers, w.start.permits)
	}
	return ""
}

// administrator is the client that changes how many permits there are.
const administrator = 3

// resize adds a permit, or takes one away. The reply may be lost, and a copy of the request may come
// late.
func (w *world) resize(s state, yield move) {
	if s.resizes == 0 {
		return
	}
	s.resizes--
	for _, n := range []int8{1, -1} {
		record := script.Request{Record: protocol.RequestKey(lockName, uuid(administrator), 1), Number: int64(w.start.resizes - s.resizes), Keep: time.Minute}
		r := w.redis.request(question{op: opResize, who: administrator, number: uint8(record.Number)}, leased.Add(int(n), record))
		to := s
		to.permits += n
		_, fault := w.carryOut(&to, r)
		yield(to, fault, func() string { return w.describe(r, "adds %d", n) })
		if s.faults == 0 || fault != "" {
			continue
		}
		to.faults--
		twice := to
		_, fault = w.carryOut(&twice, r)
		yield(twice, fault, func() string { return w.describe(r, "adds %d, does not hear of it, and repeats it", n) })
		if to.late == 0 {
			to.late = r.id
			yield(to, "", func() string { return w.describe(r, "adds %d, after a copy that is late", n) })
		}
	}
}

// makePermits gives a semaphore its permits.
func (w *world) makePermits(n int8, ttl time.Duration) {
	w.start.permits = n
	w.start.keys = w.redis.intern([]item{{Name: lockName, Kind: "string", Words: []string{strconv.Itoa(int(n))}, TTL: ttl}}).id
}

// lasting says that a key may live for longer than a lease.
func (w *world) lasting(name string) bool {
	return w.start.permits > 0 && (name == lockName || name == leased.InUse || strings.HasPrefix(name, "redlatch:request:"))
}
