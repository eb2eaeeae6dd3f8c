package explore

import (
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// question is everything that determines a request of a client.
type question struct {
	op     op
	who    int // client or peer
	number uint8
	counts script.Counts
	most   uint8
	lease  int32
	tokens int64
	over   bool
	from   ticket
}

// request is the one of a client that asks this.
func (w *world) request(i int, c *client, q question) *request {
	q.who, q.number = i, c.number
	if w.cached[q] == nil {
		w.cached[q] = w.redis.request(q, w.call(q))
	}
	return w.cached[q]
}

// requestAll is the request of two clients for a Multi.
func (w *world) requestAll(s *state, i int) *request {
	q := question{op: opLockAll, who: i, number: s.clients[i].number, counts: script.Counts{Writes: 1}, lease: w.wants[0].lease}
	locks := []string{w.kinds[i].lock(), w.kinds[i+1].lock()}
	names := []string{owners[i][q.number], owners[i+1][s.clients[i+1].number]}
	return w.redis.request(q, script.AcquireAll(locks, names, time.Duration(q.lease)*time.Millisecond))
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
	case opMove, opMoveBack:
		return w.move(q, lease)
	case opRenew:
		return script.Renew([]script.Renewal{w.kinds[q.who].Renewal(owner, q.counts, q.over, lease)})
	}
	return w.kinds[q.who].Release(owner, int(q.most), q.counts, lease)
}

// unused is a number for a new owner. No key and no request names it any more, so it is as good as
// a fresh one.
func (w *world) unused(s *state, who int) uint8 {
	number := uint8(1)
	for s.passes(who, number) || w.redis.requests[s.late].names(owners[who][number]) || w.redis.all[s.keys].names(owners[who][number]) {
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
	case opLower, opFree:
		var got script.Released
		switch got, err = script.ReadReleased(done.reply); {
		case !got.Held:
			said = gone
		case got.Freed:
			said = freed
		default:
			said = remains
		}
	case opMove, opMoveBack:
		var moved time.Duration
		if moved, err = script.ReadMoved(done.reply); moved == 0 {
			said = gone
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
