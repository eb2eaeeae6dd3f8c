package demo

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// judged lets a referee see the records and judges a counter of that value.
func judged(counter int64, records ...record) Verdict {
	r := newReferee()
	for _, rec := range records {
		r.see(rec)
	}
	return r.judge(counter)
}

// visit is a worker that enters and leaves in peace.
func visit(worker int, read int64) []record {
	return []record{{Kind: enter, Worker: worker}, {Kind: leave, Worker: worker, Read: read}}
}

func TestRefereeIsContentWithOneAfterTheOther(t *testing.T) {
	t.Parallel()
	v := judged(3, slices.Concat(visit(1, 0), visit(2, 1), visit(1, 2))...)
	if !v.Sound() || v.Completed != 3 || v.Entered != 3 || v.Lost != 0 {
		t.Errorf("%+v", v)
	}
}

func TestRefereeFindsAnOverlapEvenWhenNoIncrementIsLost(t *testing.T) {
	t.Parallel()
	v := judged(2,
		record{Kind: enter, Worker: 1},
		record{Kind: enter, Worker: 2},
		record{Kind: leave, Worker: 1, Read: 0},
		record{Kind: leave, Worker: 2, Read: 1})
	if v.Overlaps != 1 || v.Lost != 0 || v.Sound() {
		t.Errorf("%+v", v)
	}
}

func TestRefereeCountsEveryPairInside(t *testing.T) {
	t.Parallel()
	v := judged(0, record{Kind: enter, Worker: 1}, record{Kind: enter, Worker: 2}, record{Kind: enter, Worker: 3})
	if v.Overlaps != 3 {
		t.Errorf("%d overlaps among three workers inside", v.Overlaps)
	}
}

func TestRefereeFindsALostIncrementEvenWithoutAnOverlap(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]Verdict{
		"seen by the next":   judged(2, slices.Concat(visit(1, 0), visit(2, 0), visit(1, 1))...),
		"seen at the end":    judged(1, slices.Concat(visit(1, 0), visit(2, 1))...),
		"behind a dead one":  judged(1, slices.Concat(visit(1, 0), visit(2, 1), []record{{Kind: enter, Worker: 3}, {Kind: gone, Worker: 3}})...),
		"the counter's file": judged(0, visit(1, 0)...),
	} {
		if v.Lost != 1 || v.Overlaps != 0 || v.Sound() {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestRefereeFindsAnIncrementThatNobodyMade(t *testing.T) {
	t.Parallel()
	if v := judged(2, visit(1, 0)...); v.Sound() || v.Lost != -1 {
		t.Errorf("%+v", v)
	}
}

func TestAWrongValueIsNotMadeGoodByAnother(t *testing.T) {
	t.Parallel()
	v := judged(3, slices.Concat(visit(1, 0), visit(2, 0), visit(3, 2))...)
	if v.Lost != 0 || v.Wrong != 2 || v.Sound() {
		t.Errorf("%+v", v)
	}
}

func TestAKilledWorkerIsInsideUntilItIsGone(t *testing.T) {
	t.Parallel()
	killed := []record{{Kind: enter, Worker: 1}, {Kind: gone, Worker: 1}}
	if v := judged(1, append(killed, visit(2, 0)...)...); !v.Sound() || v.Killed != 1 {
		t.Errorf("entered after it was gone: %+v", v)
	}
	early := []record{{Kind: enter, Worker: 1}, {Kind: enter, Worker: 2}, {Kind: gone, Worker: 1}, {Kind: leave, Worker: 2}}
	if v := judged(1, early...); v.Overlaps != 1 || v.Sound() {
		t.Errorf("entered before it was gone: %+v", v)
	}
}

func TestAKilledWorkerMayOrMayNotHaveWritten(t *testing.T) {
	t.Parallel()
	killed := slices.Concat(visit(2, 0), []record{{Kind: enter, Worker: 1}, {Kind: gone, Worker: 1}})
	for written := range int64(2) {
		if v := judged(1+written, killed...); !v.Sound() || v.ByKilled != int(written) || v.Completed != 1 {
			t.Errorf("judged at once, written %d: %+v", written, v)
		}
		// The next worker settles it, so that no loss can hide behind the doubt.
		settled := slices.Concat(killed, visit(3, 1+written))
		if v := judged(2+written, settled...); !v.Sound() || v.ByKilled != int(written) {
			t.Errorf("judged later, written %d: %+v", written, v)
		}
		if v := judged(3-written, settled...); v.Sound() {
			t.Errorf("the doubt lives on, written %d: %+v", written, v)
		}
	}
}

func TestAWorkerThatLostItsHoldHasNotIncremented(t *testing.T) {
	t.Parallel()
	v := judged(1, slices.Concat([]record{{Kind: enter, Worker: 1}, {Kind: quit, Worker: 1}}, visit(2, 0))...)
	if !v.Sound() || v.Completed != 1 || v.Killed != 0 {
		t.Errorf("%+v", v)
	}
}

func TestOnlyAKilledWorkerExcusesATornLine(t *testing.T) {
	t.Parallel()
	if v := judged(0, record{Kind: torn}); v.Sound() {
		t.Errorf("without a kill: %+v", v)
	}
	if v := judged(0, record{Kind: enter, Worker: 1}, record{Kind: torn}, record{Kind: gone, Worker: 1}); !v.Sound() {
		t.Errorf("with one: %+v", v)
	}
}

func TestAHandOverIsFromOneProcessToAnotherThatWaited(t *testing.T) {
	t.Parallel()
	before := []record{{Kind: enter, Worker: 1}, {Kind: leave, Worker: 1, At: 1000}}
	for name, c := range map[string]struct {
		between []record
		next    record
		want    int
	}{
		"waited":             {nil, record{Kind: enter, Worker: 2, Since: 900, At: 1250}, 1},
		"the same process":   {nil, record{Kind: enter, Worker: 1, Since: 900, At: 1250}, 0},
		"came later":         {nil, record{Kind: enter, Worker: 2, Since: 1010, At: 1250}, 0},
		"the clock was set":  {nil, record{Kind: enter, Worker: 2, Since: 10, At: 50}, 0},
		"never released":     {[]record{{Kind: gone, Worker: 1, At: 1001}}, record{Kind: enter, Worker: 2, Since: 900, At: 4000}, 0},
		"from a killed one":  {[]record{{Kind: enter, Worker: 3}, {Kind: gone, Worker: 3, At: 1100}}, record{Kind: enter, Worker: 2, Since: 900, At: 4000}, 0},
		"from a lost hold":   {[]record{{Kind: enter, Worker: 3}, {Kind: quit, Worker: 3, At: 1100}}, record{Kind: enter, Worker: 2, Since: 900, At: 4000}, 0},
		"somebody is inside": {[]record{{Kind: enter, Worker: 3, Since: 2000}}, record{Kind: enter, Worker: 2, Since: 900, At: 4000}, 0},
	} {
		v := judged(1, slices.Concat(before, c.between, []record{c.next})...)
		if v.HandOvers != c.want || c.want == 1 && v.P50 != 250 {
			t.Errorf("%s: %d hand-overs, p50 %d; want %d", name, v.HandOvers, v.P50, c.want)
		}
	}
}

func TestARecoveryIsMeasuredFromTheKillToTheNextInside(t *testing.T) {
	t.Parallel()
	v := judged(1,
		record{Kind: enter, Worker: 1, At: 100},
		record{Kind: gone, Worker: 1, At: 500},
		record{Kind: gone, Worker: 7, At: 600}, // was not inside
		record{Kind: enter, Worker: 2, At: 2500},
		record{Kind: leave, Worker: 2, At: 2600},
		record{Kind: enter, Worker: 3, At: 2700})
	if want := []Recovery{{Killed: 1, Heir: 2, After: 2000}}; !slices.Equal(v.Recoveries, want) {
		t.Errorf("recoveries %v, want %v", v.Recoveries, want)
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct{ got, want int }{
		{percentile(hundred, 50), 50}, {percentile(hundred, 99), 99}, {percentile(hundred, 100), 100},
		{percentile([]int{7}, 50), 7}, {percentile([]int{7, 8}, 99), 8}, {percentile([]int{7, 8, 9}, 50), 8},
		{percentile([]int(nil), 99), 0},
	} {
		if c.got != c.want {
			t.Errorf("got %d, want %d", c.got, c.want)
		}
	}
}

// site plays workers that enter, write and die in any order, with a counter of
// their own, and notes what they do as they would.
type site struct {
	counter int64
	read    map[int]int64 // of the workers inside
	records []record
	now     int64
	written int // increments that were written
}

func (s *site) note(kind recordKind, worker int, read int64) {
	s.now += int64(time.Millisecond)
	s.records = append(s.records, record{Kind: kind, Worker: worker, At: s.now, Read: read})
}

func (s *site) enter(worker int) {
	s.read[worker] = s.counter
	s.note(enter, worker, 0)
}

func (s *site) write(worker int) {
	s.counter = s.read[worker] + 1
	s.written++
}

func (s *site) end(worker int, kind recordKind) {
	s.note(kind, worker, s.read[worker])
	delete(s.read, worker)
}

// Goal: the verdict is right about any history. Method: histories of a lock that
// works, and of one that lets anybody in, with kills before and after the write.
func TestRefereeIsRightAboutAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &site{read: make(map[int]int64)}
		exclusive := rapid.Bool().Draw(t, "exclusive")
		overlapped, kills := false, 0
		for worker := range rapid.IntRange(1, 30).Draw(t, "steps") {
			if !exclusive || len(s.read) == 0 {
				overlapped = overlapped || len(s.read) > 0
				s.enter(worker)
			}
			if len(s.read) == 0 || !exclusive && rapid.Bool().Draw(t, "stay") {
				continue
			}
			inside := rapid.SampledFrom(slices.Sorted(maps.Keys(s.read))).Draw(t, "who")
			switch rapid.SampledFrom([]string{"leave", "leave", "quit", "dies", "dies late"}).Draw(t, "how") {
			case "leave":
				s.write(inside)
				s.end(inside, leave)
			case "quit":
				s.end(inside, quit)
			case "dies late":
				s.write(inside)
				fallthrough
			case "dies":
				kills++
				s.end(inside, gone)
			}
		}
		v := judged(s.counter, s.records...)
		if (v.Overlaps > 0) != overlapped {
			t.Fatalf("%d overlaps, want some: %v", v.Overlaps, overlapped)
		}
		if v.Killed != kills {
			t.Fatalf("%d killed, want %d", v.Killed, kills)
		}
		if int64(v.Completed+v.ByKilled)-v.Lost != s.counter {
			t.Fatalf("%+v does not add up to %d", v, s.counter)
		}
		if !overlapped && (!v.Sound() || v.Completed+v.ByKilled != s.written) {
			t.Fatalf("a good history with %d increments is judged %+v", s.written, v)
		}
		if overlapped && v.Sound() {
			t.Fatalf("a bad history is judged sound: %+v", v)
		}
	})
}

// Goal: no increment can vanish unnoticed, also next to workers that were killed
// before they wrote. Method: take one away behind a worker that has left.
func TestAVanishedIncrementIsAlwaysFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &site{read: make(map[int]int64)}
		steps := rapid.IntRange(2, 20).Draw(t, "steps")
		thief := rapid.IntRange(0, steps-1).Draw(t, "thief")
		for worker := range steps {
			s.enter(worker)
			switch {
			case worker == thief:
				s.write(worker)
				s.end(worker, leave)
				s.counter--
			case rapid.Bool().Draw(t, "dies"):
				s.end(worker, gone)
			default:
				s.write(worker)
				s.end(worker, leave)
			}
		}
		if v := judged(s.counter, s.records...); v.Sound() || v.Lost != 1 {
			t.Fatalf("judged %+v", v)
		}
	})
}
