package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

const (
	figureCycles       = "cycles/s"
	figureInOrder      = "in order of arrival"
	figureMeanWait     = "mean wait, µs"
	figureLongest      = "longest, ms"
	figureUnfairness   = "longest ÷ mean"
	figureUnfairGrants = "same, in grants"
	figureStarved      = "starved"
	figureTail         = "tail, ms"
	figureStranded     = "stranded"
	figureServed       = "served"
	figureLesserShare  = "share of the lesser process"
	figureToOther      = "to the other process"
	figureHandOver     = "hand-over to it, µs"

	// of two processes that are not the same
	figureShareFirst    = "share of the first"
	figureShareSecond   = "share of the second"
	figureLongestFirst  = "longest wait of the first, ms"
	figureLongestSecond = "longest wait of the second, ms"
	figureLongestRatio  = "longest wait, second ÷ first"

	// a grant
	figureScriptsEach = "scripts/cycle"
	figureWritesEach  = "writes/cycle"
	figureServerTime  = "µs in all"
)

// hold is one time that one worker held the contended lock. The moments are
// nanoseconds of the machine's clock, which its processes share.
type hold struct {
	Process int   `json:"p"`
	Worker  int   `json:"w"`
	Asked   int64 `json:"a"` // before Lock was called
	Granted int64 `json:"g"` // after it returned
	Given   int64 `json:"r"` // before Unlock was called
	// Stranded says that the lock was never granted, although everybody else had
	// stopped to ask for it; Granted and Given are then the end of the wait.
	Stranded bool `json:"s,omitempty"`
}

// window is the part of a run that counts: it begins after the warm-up and ends when the workers
// stop asking. Its moments are nanoseconds of the machine's clock, which its processes share.
type window struct {
	from, to int64
}

func (w window) length() time.Duration { return time.Duration(w.to - w.from) }

func (w window) contains(moment int64) bool { return w.from <= moment && moment < w.to }

// clamp returns the moment of the window that is nearest.
func (w window) clamp(moment int64) int64 { return min(max(moment, w.from), w.to) }

// seat is one worker of one process.
type seat struct{ process, worker int }

// ledger is all holds of one run, and the window that counts. Every figure but the tail is of the
// window alone: rates count what was granted inside it, and a wait counts with the part inside it.
type ledger struct {
	holds  []hold // in the order of their grants
	window window
}

func newLedger(holds []hold, w window) ledger {
	slices.SortFunc(holds, func(a, b hold) int { return cmp.Compare(a.Granted, b.Granted) })
	return ledger{holds, w}
}

// exclusive says whether one hold ended before the next began, in the whole run. The clocks of two
// processes may differ by slack.
func (l ledger) exclusive(slack time.Duration) error {
	granted := slices.DeleteFunc(slices.Clone(l.holds), func(h hold) bool { return h.Stranded })
	for i := 1; i < len(granted); i++ {
		overlap := time.Duration(granted[i-1].Given - granted[i].Granted)
		if overlap > slack || overlap > 0 && granted[i].Process == granted[i-1].Process {
			return fmt.Errorf("two held the lock at once: %+v and %+v", granted[i-1], granted[i])
		}
	}
	return nil
}

// granted are the holds that were granted inside the window.
func (l ledger) granted() []hold { return l.grantedIn(l.window) }

func (l ledger) grantedIn(w window) []hold {
	var granted []hold
	for _, h := range l.holds {
		if !h.Stranded && w.contains(h.Granted) {
			granted = append(granted, h)
		}
	}
	return granted
}

// waiting are the holds that somebody waited for inside the window, each with the part of its
// wait that lies inside: a wait that began before or ended after it is cut.
func (l ledger) waiting() []hold {
	var waiting []hold
	for _, h := range l.holds {
		if h.Asked < l.window.to && h.Granted >= l.window.from {
			h.Asked, h.Granted = l.window.clamp(h.Asked), l.window.clamp(h.Granted)
			waiting = append(waiting, h)
		}
	}
	return waiting
}

// waits are the lengths of the waits, in nanoseconds.
func (l ledger) waits() []float64 {
	var waits []float64
	for _, h := range l.waiting() {
		waits = append(waits, float64(h.Granted-h.Asked))
	}
	return waits
}

// waitsInGrants are the same, counted in grants to others. A machine that does something else for a
// while stretches a wait in time, but not in grants: what is left is the lock's own fairness.
func (l ledger) waitsInGrants() []float64 {
	granted := l.granted()
	before := func(moment int64) int {
		return sort.Search(len(granted), func(i int) bool { return granted[i].Granted >= moment })
	}
	var waits []float64
	for _, h := range l.waiting() {
		waits = append(waits, float64(before(h.Granted)-before(h.Asked)))
	}
	return waits
}

// inOrder is the share of grants that overtook nobody: none who still waited had asked before.
func (l ledger) inOrder() float64 {
	grants, orderly, oldest := 0, 0, int64(math.MaxInt64)
	for _, h := range slices.Backward(l.holds) {
		if !h.Stranded && l.window.contains(h.Granted) {
			grants++
			if h.Asked <= oldest {
				orderly++
			}
		}
		oldest = min(oldest, h.Asked)
	}
	return float64(orderly) / float64(max(grants, 1))
}

// starved is the number of workers that got no grant.
func (l ledger) starved() int {
	starved := map[seat]bool{}
	for _, h := range l.holds {
		starved[seat{h.Process, h.Worker}] = true
	}
	for _, h := range l.granted() {
		delete(starved, seat{h.Process, h.Worker})
	}
	return len(starved)
}

// of is the part of the ledger that is about one process.
func (l ledger) of(process int) ledger {
	others := func(h hold) bool { return h.Process != process }
	return ledger{slices.DeleteFunc(slices.Clone(l.holds), others), l.window}
}

// crossings are the times from a release in one process to the grant in another.
func (l ledger) crossings() []float64 {
	var times []float64
	granted := l.granted()
	for i := 1; i < len(granted); i++ {
		if granted[i].Process != granted[i-1].Process {
			times = append(times, float64(granted[i].Granted-granted[i-1].Given))
		}
	}
	return times
}

// tail is the time from the end of the window until the last wait was over.
func (l ledger) tail() time.Duration {
	var last int64
	for _, h := range l.holds {
		last = max(last, h.Granted-l.window.to)
	}
	return time.Duration(last)
}

// stranded is the number of waits that ended without the lock.
func (l ledger) stranded() int {
	stranded := 0
	for _, h := range l.holds {
		if h.Stranded {
			stranded++
		}
	}
	return stranded
}

// figures are all that the ledger tells.
func (l ledger) figures() figures {
	waits, inGrants, granted := l.waits(), l.waitsInGrants(), float64(max(len(l.granted()), 1))
	f := figures{
		figureCycles: granted / l.window.length().Seconds(), figureInOrder: l.inOrder(),
		figureMeanWait: mean(waits) / 1e3, figureLongest: longest(waits) / 1e6,
		figureUnfairness: longest(waits) / max(mean(waits), 1), figureUnfairGrants: longest(inGrants) / max(mean(inGrants), 1),
		figureStarved: float64(l.starved()), figureTail: l.tail().Seconds() * 1e3,
		figureStranded: float64(l.stranded()), figureServed: 1 - float64(l.stranded())/float64(max(len(l.holds), 1)),
	}
	if crossings := l.crossings(); len(crossings) > 0 {
		f[figureToOther], f[figureHandOver] = float64(len(crossings))/granted, median(crossings)/1e3
	}
	first, second := l.of(0), l.of(1)
	f[figureShareSecond] = float64(len(second.granted())) / granted
	f[figureShareFirst] = 1 - f[figureShareSecond]
	f[figureLesserShare] = min(f[figureShareFirst], f[figureShareSecond])
	f[figureLongestFirst], f[figureLongestSecond] = longest(first.waits())/1e6, longest(second.waits())/1e6
	f[figureLongestRatio] = f[figureLongestSecond] / f[figureLongestFirst]
	return f
}
