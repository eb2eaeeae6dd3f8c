package script_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: no TTL falls as long as somebody holds the lock. Method: random calls by two owners,
// and after each call the lives of the lock and of the timeout keys of holds that remain.
func TestNoCallShortensALife(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		rapid.Check(t, func(rt *rapid.T) {
			key := redistest.Name(t)
			l := &lives{server: s, t: t, rt: rt, key: key, counts: map[string]script.Counts{}}
			rt.Repeat(map[string]func(*rapid.T){
				"acquire": l.acquire, "release": l.release, "renew": l.renew, "force": l.force, "look": l.look, "mutex": l.mutex,
			})
			s.clearRW(t, key)
		})
	})
}

// lives are two owners on a read-write lock, and on a mutex beside it.
type lives struct {
	*server
	t      *testing.T
	rt     *rapid.T
	key    string
	counts map[string]script.Counts
	deep   int // the count of the mutex
}

// after runs a call, and fails if it lowered a TTL, but for the holds that it ended.
func (l *lives) after(call script.Call, remain map[string]int) script.Call {
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
			l.rt.Fatalf("%s: %s lived for %d ms, and lives for %d now; reply %+v", call.Script(), key, before[key], left, reply)
		}
	}
	return call
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

func (l *lives) acquire(t *rapid.T) {
	owner, span := rapid.SampledFrom([]string{me, other}).Draw(t, "owner"), spans.Draw(t, "lease")
	c := l.counts[owner]
	if c.Writes > 0 && rapid.Bool().Draw(t, "write") || c == (script.Counts{}) && rapid.Bool().Draw(t, "write") {
		c.Writes++
	} else {
		c.Reads++
	}
	l.after(script.NewRW(l.key, protocol.Plain).Acquire(owner, c, span, false), l.reads(owner, c.Reads))
	fields, _ := (script.RW{}).ReadStatus(l.run(l.t, script.NewRW(l.key, protocol.Plain).Status()[0]))
	for _, h := range fields.Holders {
		if h.Name == owner && c.Reads > 0 || h.Name == protocol.WriterField(owner) {
			l.counts[owner] = c
		}
	}
}

func (l *lives) release(t *rapid.T) {
	owner, span := rapid.SampledFrom([]string{me, other}).Draw(t, "owner"), spans.Draw(t, "lease")
	c := l.counts[owner]
	most := c.Reads
	switch {
	case c.Writes > 0 && (c.Reads == 0 || rapid.Bool().Draw(t, "write")):
		c.Writes--
	case c.Reads > 0:
		c.Reads--
	default:
		return
	}
	l.after(script.NewRW(l.key, protocol.Plain).Release(owner, most, c, span), l.reads(owner, c.Reads))
	l.counts[owner] = c
}

func (l *lives) renew(t *rapid.T) {
	owner, span := rapid.SampledFrom([]string{me, other}).Draw(t, "owner"), spans.Draw(t, "lease")
	c := l.counts[owner]
	l.after(script.Renew([]script.Renewal{
		{Lock: l.key + "mutex", Field: owner, Lease: span}, script.NewRW(l.key, protocol.Plain).Renewal(owner, c, false, span),
	}), l.reads(owner, c.Reads))
}

func (l *lives) force(t *rapid.T) {
	owner := rapid.SampledFrom([]string{me, other, ""}).Draw(t, "owner")
	remain := l.reads(owner, 0)
	if owner == "" {
		remain = nil
		clear(l.counts)
	}
	l.after(script.NewRW(l.key, protocol.Plain).Force(owner), remain)
	delete(l.counts, owner)
}

func (l *lives) look(t *rapid.T) {
	l.after(script.NewRW(l.key, protocol.Plain).Status()[0], l.reads("", 0))
	l.after(script.Mutex{Lock: l.key + "mutex"}.Status()[0], l.reads("", 0))
}

func (l *lives) mutex(t *rapid.T) {
	mutex, span := l.key+"mutex", spans.Draw(t, "lease")
	call := script.Mutex{Lock: mutex}.Acquire(me, script.Counts{Writes: l.deep + 1}, span, false)
	switch verb := rapid.IntRange(0, 3).Draw(t, "verb"); {
	case verb == 0 && l.deep > 0:
		l.deep--
		call = script.Mutex{Lock: mutex, Channel: "c", Via: protocol.Plain}.Release(me, 0, script.Counts{Writes: l.deep}, span)
	case verb == 1:
		call = script.Mutex{Lock: mutex}.Acquire(other, script.Counts{Writes: 1}, span, false)
		if l.deep == 0 {
			call = script.AcquireAll([]string{mutex}, []string{me}, span)
			l.deep = 1
		}
	default:
		l.deep++
	}
	l.after(call, l.reads("", 0))
}
