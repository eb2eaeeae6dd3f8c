package explore

import (
	"fmt"

	"github.com/redlatch/redlatch/internal/script"
)

// effect is a request, and what it has done to the counter.
type effect struct {
	number   uint8
	verb     uint8 // index of the verb
	undoing  bool  // by its cancellation
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

// judge notes what a request did to the counter, and says what is wrong with that.
func (c *counters) judge(e *effect, r *request, before, after int) string {
	change, v := after-before, c.verbs[e.verb]
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
