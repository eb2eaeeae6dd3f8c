package demo

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// did is an event of one worker, with what it read.
func did(k kind, number int, read ...int64) []event {
	return []event{{Kind: k, Number: number, Read: append(read, 0)[0]}}
}

// visit is a worker that enters and leaves in peace.
func visit(number int, read int64) []event {
	return slices.Concat(did(enter, number), did(leave, number, read))
}

// judged lets a referee see the events and judges a counter of that value.
func judged(counter int64, events ...[]event) Verdict {
	r := newReferee()
	for _, e := range slices.Concat(events...) {
		r.see(e)
	}
	return r.judge(counter)
}

func TestTheVerdictOnShortHistories(t *testing.T) {
	t.Parallel()
	killed := slices.Concat(visit(2, 0), did(enter, 1), did(gone, 1))
	for name, c := range map[string]struct {
		got   Verdict
		want  Verdict // of what is counted; nothing else is compared
		sound bool
	}{
		"one after the other": {judged(3, visit(1, 0), visit(2, 1), visit(1, 2)), Verdict{Entered: 3, Completed: 3}, true},
		"an overlap even when no increment is lost": {judged(2, did(enter, 1), did(enter, 2), did(leave, 1, 0), did(leave, 2, 1)),
			Verdict{Entered: 2, Completed: 2, Overlaps: 1}, false},
		"every pair inside":                    {judged(0, did(enter, 1), did(enter, 2), did(enter, 3)), Verdict{Entered: 3, Overlaps: 3}, false},
		"a loss seen by the next":              {judged(2, visit(1, 0), visit(2, 0), visit(1, 1)), Verdict{Entered: 3, Completed: 3, Lost: 1}, false},
		"a loss seen at the end":               {judged(1, visit(1, 0), visit(2, 1)), Verdict{Entered: 2, Completed: 2, Lost: 1}, false},
		"a loss behind a dead one":             {judged(1, visit(1, 0), visit(2, 1), did(enter, 3), did(gone, 3)), Verdict{Entered: 3, Completed: 2, Lost: 1, Killed: 1}, false},
		"a loss of everything":                 {judged(0, visit(1, 0)), Verdict{Entered: 1, Completed: 1, Lost: 1}, false},
		"an increment that nobody made":        {judged(2, visit(1, 0)), Verdict{Entered: 1, Completed: 1, Lost: -1}, false},
		"a wrong value made good by another":   {judged(3, visit(1, 0), visit(2, 0), visit(3, 2)), Verdict{Entered: 3, Completed: 3}, false},
		"a lost hold is no increment":          {judged(1, did(enter, 1), did(lost, 1), visit(2, 0)), Verdict{Entered: 2, Completed: 1}, true},
		"entered after a killed one was gone":  {judged(1, did(enter, 1), did(gone, 1), visit(2, 0)), Verdict{Entered: 2, Completed: 1, Killed: 1}, true},
		"entered before a killed one was gone": {judged(1, did(enter, 1), did(enter, 2), did(gone, 1), did(leave, 2)), Verdict{Entered: 2, Completed: 1, Killed: 1, Overlaps: 1}, false},
		"killed before it wrote":               {judged(1, killed), Verdict{Entered: 2, Completed: 1, Killed: 1}, true},
		"killed after it wrote":                {judged(2, killed), Verdict{Entered: 2, Completed: 1, Killed: 1, ByKilled: 1}, true},
		// The next worker shows which it is, so that no loss can hide behind the doubt.
		"settled, not written":              {judged(2, killed, visit(3, 1)), Verdict{Entered: 3, Completed: 2, Killed: 1}, true},
		"settled, written":                  {judged(3, killed, visit(3, 2)), Verdict{Entered: 3, Completed: 2, Killed: 1, ByKilled: 1}, true},
		"no doubt lives on, if not written": {judged(3, killed, visit(3, 1)), Verdict{Entered: 3, Completed: 2, Killed: 1, Lost: -1}, false},
		"no doubt lives on, if written":     {judged(2, killed, visit(3, 2)), Verdict{Entered: 3, Completed: 2, Killed: 1, ByKilled: 1, Lost: 1}, false},
	} {
		v := c.got
		got := Verdict{Entered: v.Entered, Overlaps: v.Overlaps, Completed: v.Completed, ByKilled: v.ByKilled, Killed: v.Killed, Lost: v.Lost}
		if !reflect.DeepEqual(got, c.want) || v.Sound() != c.sound {
			t.Errorf("%s: %+v, sound: %v", name, v, v.Sound())
		}
	}
}

func TestAHandOverIsFromOneProcessToAnotherThatWaited(t *testing.T) {
	t.Parallel()
	before := []event{{Kind: enter, Number: 1}, {Kind: leave, Number: 1, At: 1000}}
	late := event{Kind: enter, Number: 2, Since: 900, At: 4000}
	for name, c := range map[string]struct {
		between []event
		next    event
		want    int
	}{
		"waited":             {nil, event{Kind: enter, Number: 2, Since: 900, At: 1250}, 1},
		"the same process":   {nil, event{Kind: enter, Number: 1, Since: 900, At: 1250}, 0},
		"came later":         {nil, event{Kind: enter, Number: 2, Since: 1010, At: 1250}, 0},
		"the clock was set":  {nil, event{Kind: enter, Number: 2, Since: 10, At: 50}, 0},
		"never released":     {[]event{{Kind: gone, Number: 1, At: 1001}}, late, 0},
		"from a killed one":  {[]event{{Kind: enter, Number: 3}, {Kind: gone, Number: 3, At: 1100}}, late, 0},
		"from a lost hold":   {[]event{{Kind: enter, Number: 3}, {Kind: lost, Number: 3, At: 1100}}, late, 0},
		"somebody is inside": {[]event{{Kind: enter, Number: 3, Since: 2000}}, late, 0},
	} {
		v := judged(1, before, c.between, []event{c.next})
		if v.HandOvers != c.want || c.want == 1 && v.P50 != 250 {
			t.Errorf("%s: %d hand-overs, p50 %d; want %d", name, v.HandOvers, v.P50, c.want)
		}
	}
}

func TestARecoveryIsMeasuredFromTheKillToTheNextInside(t *testing.T) {
	t.Parallel()
	v := judged(1, []event{
		{Kind: enter, Number: 1, At: 100}, {Kind: gone, Number: 1, At: 500}, {Kind: gone, Number: 7, At: 600}, // was not inside
		{Kind: enter, Number: 2, At: 2500}, {Kind: leave, Number: 2, At: 2600}, {Kind: enter, Number: 3, At: 2700},
	})
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
	events  []event
	now     int64
	written int // increments that were written
}

func (s *site) note(k kind, worker int, read int64) {
	s.now += int64(time.Millisecond)
	s.events = append(s.events, event{Kind: k, Number: worker, At: s.now, Read: read})
}

func (s *site) enter(worker int) {
	s.read[worker] = s.counter
	s.note(enter, worker, 0)
}

func (s *site) write(worker int) {
	s.counter = s.read[worker] + 1
	s.written++
}

func (s *site) end(worker int, k kind) {
	s.note(k, worker, s.read[worker])
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
			switch rapid.SampledFrom([]string{"leave", "leave", "lost", "dies", "dies late"}).Draw(t, "how") {
			case "leave":
				s.write(inside)
				s.end(inside, leave)
			case "lost":
				s.end(inside, lost)
			case "dies late":
				s.write(inside)
				fallthrough
			case "dies":
				kills++
				s.end(inside, gone)
			}
		}
		v := judged(s.counter, s.events)
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
		if v := judged(s.counter, s.events); v.Sound() || v.Lost != 1 {
			t.Fatalf("judged %+v", v)
		}
	})
}
