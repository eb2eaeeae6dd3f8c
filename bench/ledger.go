package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
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

// ledger is all holds of one run, in the order of their grants.
type ledger []hold

func newLedger(holds []hold) ledger {
	slices.SortFunc(holds, func(a, b hold) int { return cmp.Compare(a.Granted, b.Granted) })
	return holds
}

// since leaves out what was asked for before the moment: the time in which
// processes start and subscribe.
func (l ledger) since(moment int64) ledger {
	return slices.DeleteFunc(slices.Clone(l), func(h hold) bool { return h.Asked < moment })
}

// granted leaves out the waits that ended without the lock.
func (l ledger) granted() ledger {
	return slices.DeleteFunc(slices.Clone(l), func(h hold) bool { return h.Stranded })
}

// stranded is the number of those.
func (l ledger) stranded() int { return len(l) - len(l.granted()) }

// served is the share of the others.
func (l ledger) served() float64 { return float64(len(l.granted())) / float64(max(len(l), 1)) }

// exclusive says whether one hold ended before the next began.
func (l ledger) exclusive() error {
	for i := 1; i < len(l); i++ {
		if l[i].Granted < l[i-1].Given {
			return fmt.Errorf("two held the lock at once: %+v and %+v", l[i-1], l[i])
		}
	}
	return nil
}

func (l ledger) waits() []float64 {
	waits := make([]float64, len(l))
	for i, h := range l {
		waits[i] = float64(h.Granted - h.Asked)
	}
	return waits
}

// longestToMean is the longest wait in units of the mean one: 1 is perfect justice.
func (l ledger) longestToMean() float64 {
	waits := l.waits()
	if len(waits) == 0 {
		return 0
	}
	return longest(waits) / mean(waits)
}

// longestToMeanInGrants is the same for waits that are counted in grants to others.
// A machine that does something else for a while stretches a wait in time, but not
// in grants: what is left is the lock's own justice.
func (l ledger) longestToMeanInGrants() float64 {
	waits := l.waitsInGrants()
	if len(waits) == 0 {
		return 0
	}
	return longest(waits) / max(mean(waits), 1)
}

func (l ledger) waitsInGrants() []float64 {
	granted := l.granted()
	before := func(moment int64) int {
		return sort.Search(len(granted), func(i int) bool { return granted[i].Granted >= moment })
	}
	waits := make([]float64, len(l))
	for i, h := range l {
		waits[i] = float64(before(h.Granted) - before(h.Asked))
	}
	return waits
}

// inOrder is the share of grants that overtook nobody: none who still waited had
// asked before.
func (l ledger) inOrder() float64 {
	if len(l.granted()) == 0 {
		return 0
	}
	queues := l.byWorker()
	orderly := 0
	for _, h := range l {
		if h.Stranded {
			continue // it is overtaken by all, and overtakes nobody
		}
		me := seat{h.Process, h.Worker}
		queues[me] = queues[me][1:]
		overtook := false
		for _, waiting := range queues {
			if len(waiting) > 0 && waiting[0].Asked < h.Asked {
				overtook = true
			}
		}
		if !overtook {
			orderly++
		}
	}
	return float64(orderly) / float64(len(l.granted()))
}

type seat struct{ process, worker int }

// byWorker is each worker's holds, in order. It has one open at a time.
func (l ledger) byWorker() map[seat][]hold {
	queues := map[seat][]hold{}
	for _, h := range l {
		s := seat{h.Process, h.Worker}
		queues[s] = append(queues[s], h)
	}
	return queues
}

// crossings are the times from a release in one process to the grant in another.
func (l ledger) crossings() []float64 {
	var times []float64
	l = l.granted()
	for i := 1; i < len(l); i++ {
		if l[i].Process != l[i-1].Process {
			times = append(times, float64(l[i].Granted-l[i-1].Given))
		}
	}
	return times
}

// perSecond is the number of cycles a second between the first and the last grant.
func (l ledger) perSecond() float64 {
	l = l.granted()
	if len(l) < 2 {
		return 0
	}
	return float64(len(l)-1) * 1e9 / float64(l[len(l)-1].Granted-l[0].Granted)
}
