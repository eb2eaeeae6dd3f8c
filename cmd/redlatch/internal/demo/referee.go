package demo

import "time"

// referee finds out from the actors' events alone whether the workers kept out of each
// other's way and whether every increment counts. It does no I/O and has no clock.
type referee struct {
	inside  map[int]bool // workers
	counter int64        // as far as the events tell
	died    int64        // workers inside since, of which nobody knows whether they had written

	left *event // the last to leave, until the next one enters
	dead *event // the last to be killed inside, until the next one enters

	handOver time.Duration // the last one
	report
}

// recovery is how the lock came back from a worker that was killed.
type recovery struct {
	killed, heir int           // workers
	after        time.Duration // from the kill to the next one inside
}

func newReferee() *referee { return &referee{inside: make(map[int]bool)} }

// see takes the next event.
func (r *referee) see(e event) {
	wasInside := r.inside[e.Number]
	switch e.Kind {
	case enter:
		r.enter(e)
		return
	case leave:
		r.completed++
		r.settle(e.Read)
		r.counter = e.Read + 1
		r.left = &e
	case lost:
		r.left = nil
	case gone:
		r.left = nil // if it was the last to leave, it may never have released
		if wasInside {
			r.killed++
			r.died++
			r.dead = &e
		}
	default:
		return
	}
	delete(r.inside, e.Number)
}

func (r *referee) enter(e event) {
	r.entered++
	r.overlaps += len(r.inside)
	if len(r.inside) == 0 {
		r.measure(e)
	}
	r.inside[e.Number] = true
	r.left, r.dead = nil, nil
}

// measure takes the time that the lock took to come to the one who enters.
func (r *referee) measure(e event) {
	if r.dead != nil {
		r.recoveries = append(r.recoveries, recovery{r.dead.Number, e.Number, time.Duration(e.At - r.dead.At)})
		return
	}
	// Only a waiter is handed something: who comes later finds the lock free. A
	// negative time is that of a clock that was set.
	if r.left == nil || r.left.Number == e.Number || e.Since > r.left.At || e.At < r.left.At {
		return
	}
	r.handOver = time.Duration(e.At - r.left.At)
	r.handOvers = append(r.handOvers, r.handOver)
}

// settle compares the counter as somebody found it with what it should be. Each worker that
// died inside may have written. Whatever else it is ahead or behind is wrong: it may be
// ahead if an overlap has brought back what another one had undone.
func (r *referee) settle(found int64) {
	ahead := found - r.counter
	written := min(max(ahead, 0), r.died)
	r.byKilled += int(written)
	r.lost += written - ahead
	if written != ahead {
		r.wrong++
	}
	r.died = 0
}

// judge is the report at the moment at which the counter has that value and nobody is
// inside. It changes nothing.
func (r referee) judge(found int64) report {
	r.settle(found)
	r.found = found
	return r.report
}
