package main

import (
	"slices"
	"testing"
)

// queue is a ledger of holds one time unit long, granted in the given order, each at
// its index plus ten. Asked are the times of asking.
func queue(asked ...int64) ledger {
	var holds []hold
	for i, a := range asked {
		granted := int64(i + 10)
		holds = append(holds, hold{Worker: i, Asked: a, Granted: granted, Given: granted + 1})
	}
	return newLedger(holds)
}

func TestLedgerSeesTwoHoldersAtOnce(t *testing.T) {
	t.Parallel()
	l := queue(0, 1, 2)
	if err := l.exclusive(); err != nil {
		t.Errorf("one after another: %v", err)
	}
	l[0].Given = l[1].Granted + 1
	if err := l.exclusive(); err == nil {
		t.Error("an overlap was not seen")
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
		{"nobody", nil, 0},
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
	})
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
	})
	if got := l.inOrder(); got != 1 {
		t.Errorf("%v in order, want 1", got)
	}
}

func TestLedgerKeepsStrandedWaitsApart(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Worker: 0, Asked: 5, Granted: 10, Given: 11},
		{Worker: 1, Asked: 1, Granted: 101, Given: 101, Stranded: true},
	})
	if got := l.stranded(); got != 1 {
		t.Errorf("%d stranded, want 1", got)
	}
	if got := l.served(); got != 0.5 {
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
	})
	if got := l.crossings(); !slices.Equal(got, []float64{7, 5}) {
		t.Errorf("crossings %v, want 7 and 5", got)
	}
}

func TestLedgerLeavesOutTheWarmUp(t *testing.T) {
	t.Parallel()
	l := queue(0, 5, 9)
	if got := len(l.since(5)); got != 2 {
		t.Errorf("%d holds asked for since 5, want 2", got)
	}
	if len(l) != 3 {
		t.Error("the ledger itself was cut")
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
	})
	if got := l.waitsInGrants(); !slices.Equal(got, []float64{0, 1, 2, 1}) {
		t.Errorf("waits in grants %v, want 0 1 2 1", got)
	}
	if got := l.longestToMeanInGrants(); got != 2 {
		t.Errorf("longest to mean is %v, want 2", got)
	}
}

func TestLedgerRates(t *testing.T) {
	t.Parallel()
	l := newLedger([]hold{
		{Asked: 0, Granted: 1e9}, {Asked: 0, Granted: 2e9}, {Asked: 0, Granted: 3e9},
	})
	if got := l.perSecond(); got != 1 {
		t.Errorf("%v a second, want 1", got)
	}
	if got := l.longestToMean(); got != 1.5 {
		t.Errorf("longest to mean is %v, want 1.5", got)
	}
}
