package explore

import (
	"fmt"

	"github.com/redlatch/redlatch/robustness/internal/redisson"
)

// step takes one thing that may happen to a counter.
type step = func(to tally, fault string, say func() string)

// moves yields everything that may happen next.
func (c *counters) moves(s tally, yield step) {
	for i := range s.slots {
		if s.slots[i].under {
			c.deliver(s, i, yield)
			continue
		}
		for v, ask := range c.verbs {
			if to := s; ask.verb != put || int(s.slots[i].had) >= ask.n {
				c.ask(to, i, v, yield)
			}
		}
	}
	for i, id := range s.late {
		if id != 0 {
			to := s
			to.late[i] = 0
			to.sort()
			r := c.world.redis.requests[id]
			said, fault := c.run(&to, r)
			yield(to, fault, func() string { return c.world.describe(r, "a late copy comes: %d", said) })
		}
	}
	c.redisson(s, yield)
}

func (s *tally) sort() {
	if s.late[0] < s.late[1] {
		s.late[0], s.late[1] = s.late[1], s.late[0]
	}
}

// ask sends a new request, which has the next number of its slot.
func (c *counters) ask(s tally, i, v int, yield step) {
	one, ask := &s.slots[i], c.verbs[v]
	one.last++
	if ask.verb == put {
		one.had -= int8(ask.n)
		one.now.gives = int8(ask.n)
	}
	one.under, one.verb = true, uint8(v)
	r := c.call(i, one, ask.verb, ask.n)
	one.request = r.id
	yield(s, "", func() string { return c.world.describe(r, "sends a %s of %d", ask.verb, ask.n) })
	c.answer(s, i, yield)
}

// answer carries out the request of a slot, and has its sender read the reply.
func (c *counters) answer(s tally, i int, yield step) {
	r := c.world.redis.requests[s.slots[i].request]
	said, fault := c.run(&s, r)
	s.slots[i].answer, s.slots[i].done = int8(said), true
	if fault == "" {
		fault = c.read(&s, i)
	}
	yield(s, fault, func() string { return c.world.describe(r, "is answered %d", said) })
}

// deliver yields what may happen to a request under way.
func (c *counters) deliver(s tally, i int, yield step) {
	one := &s.slots[i]
	r := c.world.redis.requests[one.request]
	if !one.done {
		c.answer(s, i, yield)
		to := s
		said, fault := c.run(&to, r)
		to.slots[i].answer, to.slots[i].done = int8(said), true
		yield(to, fault, func() string { return c.world.describe(r, "is carried out: %d", said) })
	} else {
		to := s
		fault := c.read(&to, i)
		yield(to, fault, func() string { return c.world.describe(r, "reads the reply: %d", one.answer) })
	}
	if s.faults == 0 {
		return
	}
	s.faults--
	how, was := "lost", one.done
	if was {
		how = "unheard"
	}
	one.done, one.twice, one.answer = false, true, 0
	c.fail(s, i, how, yield)
	if !was && s.late[1] == 0 {
		s.late[1] = r.id
		s.sort()
		c.fail(s, i, "late", yield)
	}
}

// fail has a sender repeat its request, or give it up. An acquisition that is given up is cancelled. Of any
// other one nobody knows the outcome.
func (c *counters) fail(s tally, i int, how string, yield step) {
	r := c.world.redis.requests[s.slots[i].request]
	yield(s, "", func() string { return c.world.describe(r, "is %s, and sent again", how) })
	switch one := &s.slots[i]; {
	case c.verbs[one.verb].verb == take && !one.undoing:
		c.cancel(&s, i)
	case one.unknown != 0: // once is enough
		return
	default:
		one.end(true)
	}
	yield(s, "", func() string { return c.world.describe(r, "is %s, and given up", how) })
}

func (c *counters) cancel(s *tally, i int) {
	one := &s.slots[i]
	one.undoing, one.done, one.answer = true, false, 0
	one.request = c.call(i, one, undo, c.verbs[one.verb].n).id
}

// end ends the request of a slot. If its outcome is not known, a copy may still change the counter.
func (one *numbered) end(unknown bool) {
	next := numbered{had: one.had, last: one.last, before: one.before, unknown: one.unknown, was: one.was}
	if unknown {
		next.before, next.unknown, next.was = one.now, one.last, one.verb
	}
	*one = next
}

// read has a sender take the reply to its request. It says what is wrong with it.
func (c *counters) read(s *tally, i int) string {
	one := &s.slots[i]
	v, said, happened := c.verbs[one.verb], one.answer, one.now.happened && !one.now.undone
	granted := said >= 0 && (v.verb != drain && v.verb != set || said > 0)
	switch {
	case one.undoing && happened:
		return "what was cancelled stays taken"
	case one.undoing:
		one.end(false)
		return ""
	case granted != happened && v.verb != countDown:
		return fmt.Sprintf("a %s is answered %d, and that is wrong", v.verb, said)
	case !granted && v.verb == take && one.twice && !c.hasty:
		c.cancel(s, i)
		return ""
	case v.verb == drain && int(said) != one.now.has():
		return fmt.Sprintf("%d permits are taken, and %d are answered", one.now.has(), said)
	case granted && v.verb == take:
		one.had += int8(v.n)
	case !granted && v.verb == put:
		one.had += int8(v.n)
	case granted && v.verb == drain:
		one.had += said
	}
	one.end(false)
	return ""
}

// redisson are the moves of a Redisson thread: it takes a permit, or puts it back. Or it closes and opens
// a latch.
func (c *counters) redisson(s tally, yield step) {
	thread := redisson.Semaphore
	if c.latch {
		thread = redisson.Latch
	}
	for i, text := range []string{thread.Lock, thread.Unlock} {
		n := int8(1 - 2*i)
		if n < 0 && s.java == 0 && !c.latch {
			continue
		}
		r := c.world.redis.enter(opPeer, firstPeer, 1, text, redisson.Keys(lockName), thread.Arguments(lockName, "", 0, 0))
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
