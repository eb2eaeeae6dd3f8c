package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

// always is a window in which everything counts that these tests make up.
var always = window{0, 1 << 40}

// queue is a ledger of holds one time unit long, granted in the given order, each at
// its index plus ten. Asked are the times of asking.
func queue(asked ...int64) ledger {
	var holds []hold
	for i, a := range asked {
		granted := int64(i + 10)
		holds = append(holds, hold{Worker: i, Asked: a, Granted: granted, Given: granted + 1})
	}
	return newLedger(holds, always)
}

func TestLedgerSeesTwoHoldersAtOnce(t *testing.T) {
	t.Parallel()
	l := queue(0, 1, 2)
	if err := l.exclusive(0); err != nil {
		t.Errorf("one after another: %v", err)
	}
	l.holds[0].Given = l.holds[1].Granted + 1
	if err := l.exclusive(0); err == nil {
		t.Error("an overlap was not seen")
	}
	if err := l.exclusive(time.Second); err == nil {
		t.Error("an overlap in one process was taken for a difference of clocks")
	}
	l.holds[0].Process = 1
	if err := l.exclusive(time.Second); err != nil {
		t.Errorf("a difference of clocks: %v", err)
	}
}

func TestLedgerCountsWhoOvertookNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		l    ledger
		want float64
	}{
		{"in order", queue(0, 1, 2, 3), 1},
		{"the last came second", queue(0, 3, 1, 2), 0.75},
		{"backwards", queue(3, 2, 1, 0), 0.25},
		{"nobody", queue(), 0},
	} {
		if got := c.l.inOrder(); got != c.want {
			t.Errorf("%s: %v in order, want %v", c.name, got, c.want)
		}
	}
}

// Goal: whoever waits for the second time is overtaken like anybody else.
func TestLedgerSeesLaterRequestsOvertaken(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Worker: 0, Asked: 0, Granted: 10, Given: 11},
		{Worker: 1, Asked: 13, Granted: 14, Given: 15}, // before worker 0, which asked at 12
		{Worker: 0, Asked: 12, Granted: 16, Given: 17},
		{Worker: 0, Asked: 18, Granted: 19, Given: 20},
	}, always)
	if got := l.inOrder(); got != 0.75 {
		t.Errorf("%v in order, want 0.75", got)
	}
}

// Goal: a worker that comes again is not taken for one that overtakes itself.
func TestLedgerComparesOnlyOpenRequests(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Worker: 0, Asked: 0, Granted: 10, Given: 11},
		{Worker: 1, Asked: 1, Granted: 12, Given: 13},
		{Worker: 0, Asked: 12, Granted: 14, Given: 15},
		{Worker: 1, Asked: 14, Granted: 16, Given: 17},
	}, always)
	if got := l.inOrder(); got != 1 {
		t.Errorf("%v in order, want 1", got)
	}
}

func TestLedgerKeepsStrandedWaitsApart(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Worker: 0, Asked: 5, Granted: 10, Given: 11},
		{Worker: 1, Asked: 1, Granted: 101, Given: 101, Stranded: true},
	}, always)
	if got := l.stranded(); got != 1 {
		t.Errorf("%d stranded, want 1", got)
	}
	if got := l.figures()[figureServed]; got != 0.5 {
		t.Errorf("%v served, want 0.5", got)
	}
	if got := l.inOrder(); got != 0 {
		t.Errorf("%v in order, want 0: the one grant overtook the stranded", got)
	}
	if got := longest(l.waits()); got != 100 {
		t.Errorf("the longest wait is %v, want 100: a stranded wait is a wait", got)
	}
}

func TestLedgerMeasuresCrossings(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Process: 0, Granted: 10, Given: 20},
		{Process: 0, Granted: 21, Given: 30},
		{Process: 1, Granted: 37, Given: 40},
		{Process: 0, Granted: 45, Given: 50},
	}, always)
	if got := l.crossings(); !slices.Equal(got, []float64{7, 5}) {
		t.Errorf("crossings %v, want 7 and 5", got)
	}
}

// Goal: a pause of the whole machine is no injustice. Method: three in a queue, the
// second of whom is granted late, and the third too because of it.
func TestLedgerCountsWaitsInGrants(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Worker: 0, Asked: 0, Granted: 10, Given: 11},
		{Worker: 1, Asked: 1, Granted: 1000, Given: 1001},
		{Worker: 2, Asked: 2, Granted: 1010, Given: 1011},
		{Worker: 3, Asked: 1005, Granted: 1020, Given: 1021},
	}, always)
	if got := l.waitsInGrants(); !slices.Equal(got, []float64{0, 1, 2, 1}) {
		t.Errorf("waits in grants %v, want 0 1 2 1", got)
	}
	if got := l.figures()[figureUnfairGrants]; got != 2 {
		t.Errorf("longest to mean is %v, want 2", got)
	}
}

// Goal: every figure counts what happened inside the window, and nothing else. Method: two workers
// of two processes take turns; one cycle is in the warm-up, three are inside and two in the tail.
func TestLedgerCountsInsideTheWindow(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Process: 0, Asked: 0, Granted: 1e9, Given: 1.5e9},
		{Process: 1, Asked: 1.8e9, Granted: 2.1e9, Given: 2.2e9}, // waits for 0.1 s inside
		{Process: 0, Asked: 2.3e9, Granted: 2.5e9, Given: 2.6e9}, // 0.2 s
		{Process: 1, Asked: 2.5e9, Granted: 2.9e9, Given: 3.1e9}, // 0.4 s
		{Process: 0, Asked: 2.8e9, Granted: 3.3e9, Given: 3.4e9}, // 0.2 s, then 0.3 s in the tail
		{Process: 1, Asked: 2.95e9, Granted: 3.7e9, Given: 3.8e9},
	}, window{2e9, 3e9})
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"cycles a second", l.figures()[figureCycles], 3},
		{"waits", float64(len(l.waits())), 5},
		{"mean wait", mean(l.waits()), 0.95e9 / 5},
		{"longest wait", longest(l.waits()), 0.4e9},
		{"longest to mean", l.figures()[figureUnfairness], 0.4 * 5 / 0.95},
		{"longest wait in grants", longest(l.waitsInGrants()), 1},
		{"in the order of arrival", l.inOrder(), 1},
		{"crossings", float64(len(l.crossings())), 2},
		{"smallest share", l.figures()[figureLesserShare], 1. / 3},
		{"tail in seconds", l.tail().Seconds(), 0.7},
		{"stranded", float64(l.stranded()), 0},
		{"starved", float64(l.starved()), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-6*c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// Goal: whoever is never served is not left out of the figures. Method: one worker waits from before
// the window until after it, while another has the lock each time.
func TestLedgerSeesWhoStarves(t *testing.T) {
	t.Parallel()
	holds := []hold{{Worker: 1, Asked: 50, Granted: 250, Given: 251}}
	for i := range int64(30) {
		holds = append(holds, hold{Asked: i*10 + 1, Granted: i*10 + 3, Given: i*10 + 5})
	}
	l := newLedger(holds, window{100, 200})
	if got := l.starved(); got != 1 {
		t.Errorf("%d starved, want 1", got)
	}
	if got := longest(l.waits()); got != 100 {
		t.Errorf("the longest wait is %v, want 100: all of the window", got)
	}
	if got := longest(l.waitsInGrants()); got != 10 {
		t.Errorf("the longest wait is %v grants, want 10", got)
	}
	if got := l.inOrder(); got != 0 {
		t.Errorf("%v in order, want 0: each overtook the one that starves", got)
	}
}

// Goal: a process without a grant has the smallest share.
func TestLedgerSeesAProcessThatGetsNothing(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{{Process: 0, Granted: 10}, {Process: 1, Granted: 300}}, window{0, 100})
	if got := l.figures()[figureLesserShare]; got != 0 {
		t.Errorf("the smallest share is %v, want 0", got)
	}
}

// Goal: shares and longest waits are told apart by process. Method: the other process gets one of four
// grants, and waits for twice as long.
func TestLedgerTellsProcessesApart(t *testing.T) {
	t.Parallel()
	var holds []hold
	asked := map[int]int64{}
	for i, process := range []int{0, 0, 0, 1, 0, 0, 0, 1} {
		granted := int64(i+1) * 10
		holds = append(holds, hold{Process: process, Asked: asked[process], Granted: granted, Given: granted + 1})
		asked[process] = granted + 1
	}
	f := newLedger(holds, window{0, 90}).figures()
	if got := f[figureShareSecond]; got != 0.25 {
		t.Errorf("the share is %v, want 0.25", got)
	}
	if ours, theirs := f[figureLongestFirst], f[figureLongestSecond]; ours != 19e-6 || theirs != 40e-6 {
		t.Errorf("the longest waits are %v and %v ms, want 19 and 40 ns", ours, theirs)
	}
}
