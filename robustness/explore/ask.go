package explore

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// question is everything that determines a client's request.
type question struct {
	op     op
	who    int
	number uint8
	counts script.Counts
	most   uint8
	lease  int32
	tokens int64
	over   bool
}

// ask puts a request of a client under way.
func (w *world) ask(s *state, i int, op op, k uint8) {
	c := &s.clients[i]
	q := question{op: op, who: i, number: c.number, counts: w.counts(c), most: c.most}
	want := w.wants[k]
	switch op {
	case opLock, opRaise:
		if want.read {
			q.counts.Reads++
			c.most = max(c.most, uint8(q.counts.Reads))
		} else {
			q.counts.Writes++
		}
		if q.lease, q.most = want.lease, 0; !c.fenced {
			q.tokens = want.tokens
		}
	case opLower:
		q.lease = w.lease(c)
	case opFree, opCancel:
		q.counts = script.Counts{}
	}
	c.call = pending{request: w.request(q), span: q.lease, want: k}
}

// askAll puts the request of two clients for a Multi under way.
func (w *world) askAll(s *state, i int) {
	locks := []string{w.kinds[i].lock(), w.kinds[i+1].lock()}
	names := []string{owners[i][s.clients[i].number], owners[i+1][s.clients[i+1].number]}
	lease := w.wants[0].lease
	r := w.redis.request(opLockAll, i, s.clients[i].number, script.AcquireAll(locks, names, time.Duration(lease)*time.Millisecond))
	s.clients[i].call = pending{request: r.id, span: lease}
}

// renew is a renewal of a client.
func (w *world) renew(i int, c *client) pending {
	lease := w.lease(c)
	q := question{op: opRenew, who: i, number: c.number, counts: w.counts(c), lease: lease, over: c.over}
	return pending{request: w.request(q), span: lease}
}

// request is the one that asks this.
func (w *world) request(q question) int32 {
	r := w.cached[q]
	if r == nil {
		r = w.redis.request(q.op, q.who, q.number, w.call(q))
		w.cached[q] = r
	}
	return r.id
}

func (w *world) call(q question) script.Call {
	owner, lease := owners[q.who][q.number], max(time.Duration(q.lease)*time.Millisecond, time.Millisecond)
	switch q.op {
	case opLock, opRaise:
		call := w.kinds[q.who].Acquire(owner, q.counts, lease, true)
		if q.tokens > 0 {
			call = call.WithTokens(protocol.TokenKey(lockName), script.Tokens{Count: q.tokens})
		}
		return call
	case opRenew:
		return script.Renew([]script.Renewal{w.kinds[q.who].Renewal(owner, q.counts, q.over, lease)})
	}
	return w.kinds[q.who].Release(owner, int(q.most), q.counts, lease)
}

// counts are the holds of each side.
func (w *world) counts(c *client) (n script.Counts) {
	for _, h := range c.holds[:c.held()] {
		if w.wants[h-1].read {
			n.Reads++
		} else {
			n.Writes++
		}
	}
	return n
}

// renewed is the longest lease among the holds that are renewed, 0 if none is.
func (w *world) renewed(c *client) (lease int32) {
	for _, h := range c.holds[:c.held()] {
		if want := w.wants[h-1]; !want.fixed {
			lease = max(lease, want.lease)
		}
	}
	return lease
}

// lease is what a request for what is held asks for.
func (w *world) lease(c *client) int32 {
	lease := w.renewed(c)
	if lease == 0 {
		for _, h := range c.holds[:c.held()] {
			lease = max(lease, w.wants[h-1].lease)
		}
	}
	return lease
}

// unused is a number for a new owner. No key and no request names it any more, so it is as good as
// a fresh one.
func (w *world) unused(s *state, who int) uint8 {
	var used []uint8
	note := func(id int32) {
		if r := w.redis.requests[id]; r != nil && r.who == who {
			used = append(used, r.number)
		}
	}
	for _, id := range s.late {
		note(id)
	}
	note(s.clients[who].renewal.request)
	number := uint8(1)
	for slices.Contains(used, number) || w.redis.all[s.keys].names(owners[who][number]) {
		number++
	}
	return number
}

// read reads a reply, or says what is wrong with it.
func read(op op, done *outcome) (answer, string) {
	said, err := granted, done.reply.Err
	switch op {
	case opLock, opRaise, opLockAll:
		var got script.Acquired
		if op == opLockAll {
			got, _, err = script.ReadAcquiredAll(done.reply, 2)
		} else {
			got, err = script.ReadAcquired(done.reply)
		}
		if got.Gone {
			said = gone
		} else if !got.Granted {
			said = refused
		}
	case opLower, opFree, opCancel:
		var got script.Released
		switch got, err = script.ReadReleased(done.reply); {
		case !got.Held:
			said = gone
		case got.Freed:
			said = freed
		default:
			said = remains
		}
	case opGuard:
		err = nil
	case opResize:
		if done.reply.Int != late {
			_, err = script.ReadAdded(done.reply)
		}
	case opRenew:
		var got []script.Renewed
		switch got, err = script.ReadRenewed(done.reply, 1); {
		case err != nil:
		case got[0].Err != nil:
			said = unclear
		case !got[0].Held:
			said = gone
		}
	default:
		said = readPeer(done.reply.Str)
	}
	if err != nil {
		return 0, "an error: " + err.Error()
	}
	return said, ""
}
