package demo

import (
	"cmp"
	"slices"
	"time"
)

// referee finds out from the actors' events alone whether the workers kept out of each
// other's way and whether every increment counts. It does no I/O and has no clock.
type referee struct {
	inside map[int]bool // workers

	// The counter, as far as the events tell: low, or up to high where workers
	// were killed of which nobody knows whether they had written.
	low, high int64

	left   *event // the last to leave, until the next one enters
	killed *event // the last to be killed inside, until the next one enters

	verdict   Verdict
	handOver  time.Duration // the last one
	handOvers []time.Duration
}

// Verdict is what the referee found.
type Verdict struct {
	Entered   int // how often a worker was inside
	Overlaps  int // pairs of workers that were inside at the same time
	Completed int // increments that were written, by workers that lived to say so
	ByKilled  int // increments written by workers killed right after it
	Killed    int // workers that were killed inside
	Counter   int64
	Lost      int64 // increments that are missing in the counter, on balance
	Wrong     int   // how often the counter was found to have another value than it should

	HandOvers  int
	P50, P99   time.Duration // of the hand-overs
	Longest    time.Duration
	Recoveries []Recovery
}

// Recovery is how the lock came back from a worker that was killed.
type Recovery struct {
	Killed, Heir int           // workers
	After        time.Duration // from the kill to the next one inside
}

// Sound reports whether the lock kept its promises.
func (v Verdict) Sound() bool { return v.Overlaps == 0 && v.Wrong == 0 && v.Lost == 0 }

func newReferee() *referee { return &referee{inside: make(map[int]bool)} }

// see takes the next event.
func (r *referee) see(e event) {
	switch e.Kind {
	case enter:
		r.enter(e)
	case leave:
		delete(r.inside, e.Number)
		r.verdict.Completed++
		r.settle(e.Read)
		r.low, r.high = e.Read+1, e.Read+1
		r.left = &e
	case lost:
		delete(r.inside, e.Number)
		r.left = nil
	case gone:
		r.end(e)
	}
}

func (r *referee) enter(e event) {
	r.verdict.Entered++
	r.verdict.Overlaps += len(r.inside)
	if len(r.inside) == 0 {
		r.measure(e)
	}
	r.inside[e.Number] = true
	r.left, r.killed = nil, nil
}

// measure takes the time that the lock took to come to the one who enters.
func (r *referee) measure(e event) {
	if r.killed != nil {
		r.verdict.Recoveries = append(r.verdict.Recoveries, Recovery{r.killed.Number, e.Number, time.Duration(e.At - r.killed.At)})
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

// end takes a worker out of the critical section because its process has ended.
func (r *referee) end(e event) {
	r.left = nil // if it was the last to leave, it may never have released
	if !r.inside[e.Number] {
		return
	}
	delete(r.inside, e.Number)
	r.verdict.Killed++
	r.high++
	r.killed = &e
}

// settle compares the counter as somebody found it with what it should be.
func (r *referee) settle(found int64) {
	switch {
	case found < r.low:
		r.verdict.Wrong++
		r.verdict.Lost += r.low - found
	case found > r.high:
		// An overlap has brought back what another one had undone.
		r.verdict.Wrong++
		r.verdict.ByKilled += int(r.high - r.low)
		r.verdict.Lost -= found - r.high
	default:
		r.verdict.ByKilled += int(found - r.low)
	}
}

// judge is the verdict at the moment at which the counter has that value and
// nobody is inside. It changes nothing.
func (r referee) judge(counter int64) Verdict {
	r.settle(counter)
	v := r.verdict
	v.Counter = counter
	v.HandOvers = len(r.handOvers)
	sorted := slices.Sorted(slices.Values(r.handOvers))
	v.P50, v.P99, v.Longest = percentile(sorted, 50), percentile(sorted, 99), percentile(sorted, 100)
	return v
}

// percentile is the smallest value that at least p percent do not exceed; 0 where
// there is none.
func percentile[T cmp.Ordered](sorted []T, p int) (value T) {
	if len(sorted) == 0 {
		return value
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}
