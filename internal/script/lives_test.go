package script_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: no TTL falls as long as somebody holds the lock. Method: random calls by two owners,
// and after each call the lives of the lock and of the timeout keys of holds that remain.
func TestNoCallShortensALife(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		redistest.Plans(t, 50, drawCalls, func(plan []randomCall) error {
			l := &lives{server: s, t: t, key: redistest.Name(t), counts: map[string]script.Counts{}}
			defer s.clearRW(t, l.key)
			return l.play(plan)
		})
	})
}

// randomCall is what one call is to do, as far as the holds of the owner let it.
type randomCall struct {
	verb   string
	owner  string
	lease  time.Duration
	writes bool
	action int // on the mutex
}

func (r randomCall) String() string {
	return fmt.Sprintf("%s owner %s lease %v writes %v action %d", r.verb, r.owner, r.lease, r.writes, r.action)
}

func drawCalls(random *rand.Rand) []randomCall {
	return redistest.PlanOf(random, 5, 40, func(random *rand.Rand) randomCall {
		return randomCall{
			verb:   redistest.Pick(random, "acquire", "acquire", "release", "renew", "force", "look", "mutex"),
			owner:  redistest.Pick(random, me, other),
			lease:  drawLease(random),
			writes: random.IntN(2) == 0,
			action: random.IntN(4),
		}
	})
}

// lives are two owners on a read-write lock, and on a mutex beside it.
type lives struct {
	*server
	t      *testing.T
	key    string
	counts map[string]script.Counts
	deep   int // the count of the mutex
}

func (l *lives) play(plan []randomCall) error {
	calls := map[string]func(randomCall) error{
		"acquire": l.acquire, "release": l.release, "renew": l.renew, "force": l.force, "look": l.look, "mutex": l.mutex,
	}
	for i, c := range plan {
		if err := calls[c.verb](c); err != nil {
			return fmt.Errorf("call %d: %w", i+1, err)
		}
	}
	return nil
}

// after runs a call. It is an error if that lowered a TTL, but for the holds that it ended.
func (l *lives) after(call script.Call, remain map[string]int) error {
	before := map[string]int64{}
	keys := []string{l.key}
	for owner, reads := range remain {
		for hold := 1; hold <= reads; hold++ {
			keys = append(keys, protocol.ReadTimeoutKey(l.key, owner, hold))
		}
	}
	keys = append(keys, l.key+"mutex")
	began := time.Now()
	for _, key := range keys {
		before[key] = l.must(l.t, "PTTL", key).Int
	}
	reply := l.run(l.t, call)
	for _, key := range keys {
		left := l.must(l.t, "PTTL", key).Int
		passed := time.Since(began).Milliseconds() + 2
		if free := left == -2 && (key == l.key || key == l.key+"mutex"); before[key] >= 0 && left < before[key]-passed && !free {
			return fmt.Errorf("%s: %s lived for %d ms, and lives for %d now; reply %+v", call.Script(), key, before[key], left, reply)
		}
	}
	return nil
}

// reads are how many read holds each owner has that will be there after a call of one.
func (l *lives) reads(owner string, after int) map[string]int {
	remain := map[string]int{}
	for other, c := range l.counts {
		remain[other] = c.Reads
	}
	remain[owner] = min(remain[owner], after)
	return remain
}

func (l *lives) acquire(r randomCall) error {
	c := l.counts[r.owner]
	if r.writes && (c.Writes > 0 || c == (script.Counts{})) {
		c.Writes++
	} else {
		c.Reads++
	}
	if err := l.after(l.lock().Acquire(r.owner, c, r.lease, false), l.reads(r.owner, c.Reads)); err != nil {
		return err
	}
	fields, err := (script.RW{}).ReadStatus(l.run(l.t, l.lock().Status("")[0]))
	for _, h := range fields.Holders {
		if h.Name == r.owner && c.Reads > 0 || h.Name == protocol.WriterField(r.owner) {
			l.counts[r.owner] = c
		}
	}
	return err
}

func (l *lives) release(r randomCall) error {
	c := l.counts[r.owner]
	most := c.Reads
	switch {
	case c.Writes > 0 && (c.Reads == 0 || r.writes):
		c.Writes--
	case c.Reads > 0:
		c.Reads--
	default:
		return nil
	}
	l.counts[r.owner] = c
	return l.after(l.lock().Release(r.owner, most, c, r.lease), l.reads(r.owner, c.Reads))
}

func (l *lives) renew(r randomCall) error {
	c := l.counts[r.owner]
	return l.after(script.Renew([]script.Renewal{
		{Lock: l.key + "mutex", Field: r.owner, Lease: r.lease}, l.lock().Renewal(r.owner, c, false, r.lease),
	}), l.reads(r.owner, c.Reads))
}

func (l *lives) force(r randomCall) error {
	owner, remain := r.owner, l.reads(r.owner, 0)
	delete(l.counts, owner)
	if r.action == 0 {
		owner, remain = "", nil
		clear(l.counts)
	}
	return l.after(l.lock().Force(owner), remain)
}

func (l *lives) look(randomCall) error {
	if err := l.after(l.lock().Status("")[0], l.reads("", 0)); err != nil {
		return err
	}
	return l.after(script.Mutex{Lock: l.key + "mutex"}.Status("")[0], l.reads("", 0))
}

func (l *lives) mutex(r randomCall) error {
	mutex := l.key + "mutex"
	call := script.Mutex{Lock: mutex}.Acquire(me, script.Counts{Writes: l.deep + 1}, r.lease, false)
	switch {
	case r.action == 0 && l.deep > 0:
		l.deep--
		call = script.Mutex{Lock: mutex, Channel: "c", Via: protocol.Plain}.Release(me, 0, script.Counts{Writes: l.deep}, r.lease)
	case r.action == 1 && l.deep == 0:
		call = script.AcquireAll([]string{mutex}, []string{me}, r.lease)
		l.deep = 1
	case r.action == 1:
		call = script.Mutex{Lock: mutex}.Acquire(other, script.Counts{Writes: 1}, r.lease, false)
	default:
		l.deep++
	}
	return l.after(call, l.reads("", 0))
}

func (l *lives) lock() script.RW { return script.NewRW(l.key, protocol.Plain) }
