package explore

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// counters is what is explored of the numbered requests for a counter: a semaphore whose permits nobody
// owns, or a latch. Two senders have one request at a time each. A thread of a Redisson client changes the
// counter between them.
type counters struct {
	world *world // a server by itself, which runs the scripts
	verbs []ask
	start int  // the count, or absent
	had   int8 // permits that each sender has at the start
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
)

func (v verb) String() string {
	return [...]string{"acquisition", "release", "draining", "setting", "count-down"}[v]
}

// tally is one state of a counter.
type tally struct {
	keys    int32
	senders [2]sender
	java    int8     // permits that a Redisson thread has
	late    [2]int32 // copies that may still be carried out
	faults  uint8
}

// sender sends one request at a time.
type sender struct {
	had    int8   // permits that its owner has
	open   bool   // its last request has no answer
	twice  bool   // and was sent more than once
	last   effect // of that request, without more than the number once it has an answer
	before effect // of the last request whose outcome it does not know
}

// absent is the count of a counter that is not there.
const absent = -100

func (c *counters) begin() tally {
	at := tally{faults: 3, senders: [2]sender{{had: c.had}, {had: c.had}}}
	if c.start != absent {
		at.keys = c.world.redis.intern([]item{{Name: lockName, Kind: "string", Words: []string{strconv.Itoa(c.start)}, TTL: embedded.None}}).id
	}
	return at
}

func (c *counters) show(at tally) string { return c.world.redis.all[at.keys].String() }

// count is the counter of some keys.
func (k *keys) count() int {
	if it := k.find(lockName); it != nil {
		return redistest.Must(strconv.Atoi(it.Words[0]))
	}
	return absent
}

// check says what is wrong with a state: permits that are not there, or that nobody has.
func (c *counters) check(at *tally) string {
	if c.latch {
		return ""
	}
	count, had := c.world.redis.all[at.keys].count(), int(at.java)
	for _, s := range at.senders {
		had += int(s.had) + s.last.has() + s.before.has()
	}
	if all := c.start + len(at.senders)*int(c.had); count+had != all {
		return fmt.Sprintf("of %d permits %d are there, and %d are taken", all, count, had)
	}
	return ""
}

// moves yields everything that may happen next.
func (c *counters) moves(s tally, yield step) {
	for i := range s.senders {
		if s.senders[i].open {
			c.send(s, i, yield)
			c.giveUp(s, i, yield)
			continue
		}
		for v, ask := range c.verbs {
			to := s
			one := &to.senders[i]
			one.open, one.last = true, effect{number: one.last.number + 1, verb: uint8(v)}
			if ask.verb == put {
				one.had -= int8(ask.n)
				one.last.gives = int8(ask.n)
			}
			if one.had >= 0 {
				c.send(to, i, yield)
			}
		}
	}
	for i, id := range s.late {
		if id != 0 {
			to, r := s, c.world.redis.requests[id]
			to.late[i] = 0
			said, fault := c.run(&to, r)
			yield(to, fault, func() string { return c.world.describe(r, "a late copy comes: %d", said) })
		}
	}
	c.redisson(s, yield)
}

// step takes one thing that may happen to a counter.
type step = func(to tally, fault string, say func() string)

// send yields what may become of a request: it is answered, or carried out unheard, or late, perhaps for ever.
func (c *counters) send(s tally, i int, yield step) {
	r := c.request(i, s.senders[i].last)
	heard := s
	said, fault := c.run(&heard, r)
	unheard := heard
	if fault == "" {
		fault = c.read(&heard, i, said)
	}
	yield(heard, fault, func() string { return c.world.describe(r, "is answered %d", said) })
	if s.faults == 0 {
		return
	}
	unheard.faults--
	unheard.senders[i].twice = true
	yield(unheard, "", func() string { return c.world.describe(r, "does not hear the answer %d", said) })
	for slot, id := range s.late {
		if id == 0 {
			s.faults--
			s.senders[i].twice = true
			s.late[slot] = r.id
			slices.Sort(s.late[:]) // two orders are one state
			yield(s, "", func() string { return c.world.describe(r, "sends what is late") })
			return
		}
	}
}

// giveUp has a sender give its request up. An acquisition is cancelled. Of any other request nobody knows the
// outcome.
func (c *counters) giveUp(s tally, i int, yield step) {
	switch one := &s.senders[i]; {
	case c.verbs[one.last.verb].verb == take && !one.last.undoing:
		one.last.undoing = true
		c.send(s, i, yield)
	case one.before.number == 0: // once is enough
		one.before = one.last
		one.end()
		yield(s, "", func() string { return fmt.Sprintf("%s gives its request up", name(i)) })
	}
}

// end ends the request of a sender.
func (one *sender) end() {
	*one = sender{had: one.had, before: one.before, last: effect{number: one.last.number}}
}

// request is that of a sender.
func (c *counters) request(i int, e effect) *request {
	r := script.Request{Record: protocol.RequestKey(lockName, uuid(i), 1), Number: int64(e.number), Keep: time.Minute}
	semaphore, latch := script.NewSemaphore(lockName, protocol.Plain), script.NewLatch(lockName, protocol.Plain)
	q, call, n := question{op: opCount, who: i, number: e.number}, script.Call{}, c.verbs[e.verb].n
	switch v := c.verbs[e.verb].verb; {
	case e.undoing:
		q.op, call = opUndo, semaphore.Cancel(r, 0)
	case v == take:
		call = semaphore.Acquire(r, n)
	case v == put:
		call = semaphore.Add(n, r)
	case v == drain:
		call = semaphore.Drain(r)
	case v == set:
		call = latch.Set(n, r)
	case v == countDown:
		call = latch.CountDown(r)
	}
	return c.world.redis.request(q, call)
}

// run carries a request out. It returns the reply, and what is wrong with what it has done.
func (c *counters) run(at *tally, r *request) (said int, fault string) {
	was := c.world.redis.all[at.keys]
	done := c.world.redis.run(was, r)
	at.keys = done.keys.id
	if done.reply.Err != nil {
		return 0, "an error: " + done.reply.Err.Error()
	}
	s, said := &at.senders[r.who], int(done.reply.Int)
	before, after := was.count(), done.keys.count()
	switch {
	case s.open && s.last.number == r.number && said == late:
		return said, "a request is taken for a late copy"
	case s.open && s.last.number == r.number:
		return said, c.judge(&s.last, r, before, after)
	case s.before.number == r.number && before != after: // if not, it may have come too late
		return said, c.judge(&s.before, r, before, after)
	case s.before.number != r.number && before != after:
		return said, "a request that has ended changes the counter"
	}
	return said, ""
}

// read has a sender take the reply to its request. It says what is wrong with it.
func (c *counters) read(s *tally, i int, said int) string {
	one := &s.senders[i]
	v, happened := c.verbs[one.last.verb], one.last.happened && !one.last.undone
	granted := said > 0 || said == 0 && (v.verb == put || v.verb == countDown)
	switch {
	case one.last.undoing && happened:
		return "what was cancelled stays taken"
	case one.last.undoing:
	case granted != happened && v.verb != countDown:
		return fmt.Sprintf("a %s is answered %d, and that is wrong", v.verb, said)
	case !granted && v.verb == take && one.twice && !c.hasty:
		one.last.undoing = true
		return ""
	case v.verb == drain && said != one.last.has():
		return fmt.Sprintf("%d permits are taken, and %d are answered", one.last.has(), said)
	case granted && v.verb == take || !granted && v.verb == put:
		one.had += int8(v.n)
	case granted && v.verb == drain:
		one.had += int8(said)
	}
	one.end()
	return ""
}

// redisson are the moves of a Redisson thread: it takes a permit, or puts it back. Or it closes and opens
// a latch.
func (c *counters) redisson(s tally, yield step) {
	thread := javaSemaphore
	if c.latch {
		thread = javaLatch
	}
	for i, text := range []string{thread.lock, thread.unlock} {
		n := int8(1 - 2*i)
		if n < 0 && s.java == 0 && !c.latch {
			continue
		}
		r := c.world.redis.enter(question{op: opPeer, who: firstPeer, number: 1}, text, javaKeys, thread.words(""))
		done := c.world.redis.run(c.world.redis.all[s.keys], r)
		to := s
		if to.keys = done.keys.id; done.reply.Str != "refused" && !c.latch {
			to.java += n
		}
		if to != s {
			yield(to, "", func() string { return fmt.Sprintf("Java1 makes it %d", done.keys.count()) })
		}
	}
}
