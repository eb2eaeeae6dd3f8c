package explore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// counters is what is explored of the numbered requests for a counter: a semaphore whose permits nobody
// owns, or a latch. Two slots of clients ask, one request at a time each. A thread of a Redisson client
// changes the counter between them.
type counters struct {
	world *world // a server by itself, which runs the scripts
	verbs []ask
	start int  // the count, or absent
	had   int8 // permits that each slot has at the start
	latch bool // Redisson closes and opens it; else it takes a permit, and puts it back
	hasty bool // a refusal that was sent more than once is not cancelled
}

// ask is something that a client asks for.
type ask struct {
	verb verb
	n    int
}

type verb uint8

const (
	take verb = iota
	put
	drain
	set
	countDown
	undo // a take
)

func (v verb) String() string {
	return [...]string{"acquisition", "release", "draining", "setting", "count-down", "cancellation"}[v]
}

// tally is one state of a counter.
type tally struct {
	keys   int32
	slots  [2]numbered
	java   int8 // permits that a Redisson thread has
	late   [2]int32
	faults uint8
}

// numbered is a slot: its request under way, and the one before that had no answer.
type numbered struct {
	had     int8  // permits that its owner has
	last    uint8 // the number of its last request
	under   bool  // the request is under way
	verb    uint8 // index of the verb
	undoing bool  // by its cancellation
	twice   bool  // it was sent more than once
	request int32
	answer  int8 // once it has been carried out, as it stands in the reply
	done    bool // it has an answer
	now     effect
	before  effect // of the last request without an answer
	unknown uint8  // its number
	was     uint8  // its verb
}

// effect is what a request has done to the counter.
type effect struct {
	happened bool
	settled  bool // it had nothing to do, and never has
	undone   bool
	gives    int8 // permits that its sender does not have any more
	change   int8
}

// has is how many permits the request has taken and not put back, or is to put back.
func (e effect) has() int {
	if !e.happened || e.undone {
		return int(e.gives)
	}
	return int(e.gives - e.change)
}

// absent is the count of a counter that is not there.
const absent = -100

func (c *counters) begin() tally {
	at := tally{faults: 3, slots: [2]numbered{{had: c.had}, {had: c.had}}}
	if c.start != absent {
		at.keys = c.world.redis.intern([]item{{name: lockName, kind: "string", words: []string{strconv.Itoa(c.start)}, ttl: none}}).id
	}
	return at
}

func (c *counters) show(at tally) string { return c.world.redis.all[at.keys].String() }
func (c *counters) like(at *tally) tally { return *at }

// count is the counter of some keys.
func (k *keys) count() int {
	if it := k.find(lockName); it != nil {
		return must(strconv.Atoi(it.words[0]))
	}
	return absent
}

// check says what is wrong with a state: permits that are not there, or that nobody has.
func (c *counters) check(at *tally) string {
	if c.latch {
		return ""
	}
	count, had := c.world.redis.all[at.keys].count(), int(at.java)
	for i := range at.slots {
		s := &at.slots[i]
		had += int(s.had) + s.now.has() + s.before.has()
	}
	if all := c.start + len(at.slots)*int(c.had); count+had != all {
		return fmt.Sprintf("of %d permits %d are there, and %d are taken", all, count, had)
	}
	return ""
}

// call is the request of a slot.
func (c *counters) call(i int, s *numbered, v verb, n int) *request {
	r := script.Request{Record: protocol.RequestKey(lockName, uuid(i), 1), Number: int64(s.last), Keep: time.Minute}
	semaphore, latch := script.NewSemaphore(lockName, protocol.Plain), script.NewLatch(lockName, protocol.Plain)
	op, call := opCount, script.Call{}
	switch v {
	case take:
		call = semaphore.Acquire(n, r)
	case put:
		call = semaphore.Add(n, r)
	case drain:
		call = semaphore.Drain(r)
	case set:
		call = latch.Set(n, r)
	case countDown:
		call = latch.CountDown(r)
	case undo:
		op, call = opUndo, semaphore.Cancel(n, r)
	}
	return c.world.redis.request(op, i, s.last, call)
}

// run carries a request out for its slot. It returns the reply, and what is wrong with what it has done.
func (c *counters) run(at *tally, r *request) (said int, fault string) {
	was := c.world.redis.all[at.keys]
	done := c.world.redis.run(was, r)
	at.keys = done.keys.id
	if done.reply.Err != nil {
		return 0, "an error: " + done.reply.Err.Error()
	}
	s, said := &at.slots[r.who], int(done.reply.Int)
	before, after := was.count(), done.keys.count()
	e, v := &s.now, c.verbs[s.verb]
	switch {
	case s.under && s.last == r.number:
	case s.unknown == r.number:
		e, v = &s.before, c.verbs[s.was]
	case before != after:
		return said, "a request that has ended changes the counter"
	default:
		return said, ""
	}
	switch {
	case e == &s.before && before == after: // it may have come too late
		return said, ""
	case said == late:
		return said, "a request is taken for a late copy"
	}
	return said, c.judge(e, v, r, before, after)
}

// judge notes what a request did to the counter, and says what is wrong with that.
func (c *counters) judge(e *effect, v ask, r *request, before, after int) string {
	change := after - before
	switch {
	case r.op == opUndo && e.happened && !e.undone:
		if e.undone = true; change != -int(e.change) {
			return fmt.Sprintf("a cancellation changes the counter by %d, and not by %d", change, -e.change)
		}
	case r.op == opUndo:
		if e.undone = true; change != 0 {
			return "a cancellation puts back what nobody took"
		}
	case change == 0:
		if !e.happened && !e.settled && !e.undone && c.wanted(v, before) != before {
			return fmt.Sprintf("a first %s does nothing", v.verb)
		}
		e.settled = e.settled || !e.happened && v.verb != take // a refused acquisition is cancelled instead
	case e.settled:
		return fmt.Sprintf("a %s is carried out after it was refused", v.verb)
	case e.happened:
		return fmt.Sprintf("a %s is carried out twice", v.verb)
	case e.undone:
		return fmt.Sprintf("a %s is carried out after its cancellation", v.verb)
	case after != c.wanted(v, before):
		return fmt.Sprintf("a %s makes %d of %d", v.verb, after, before)
	default:
		e.happened, e.change = true, int8(change)
	}
	return ""
}

// wanted is what a request makes of a count.
func (c *counters) wanted(v ask, count int) int {
	switch {
	case v.verb == take && count >= v.n:
		return count - v.n
	case v.verb == put && count+v.n <= script.MaxCount:
		return max(count, 0) + v.n
	case v.verb == drain && count > 0:
		return 0
	case v.verb == set && count == absent:
		return v.n
	case v.verb == countDown && count > 1:
		return count - 1
	case v.verb == countDown:
		return absent
	}
	return count
}
