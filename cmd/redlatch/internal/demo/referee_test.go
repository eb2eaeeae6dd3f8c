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
func judged(counter int64, events ...[]event) report {
	r := newReferee()
	for _, e := range slices.Concat(events...) {
		r.see(e)
	}
	return r.judge(counter)
}

func TestTheReportOnShortHistories(t *testing.T) {
	t.Parallel()
	killed := slices.Concat(visit(2, 0), did(enter, 1), did(gone, 1))
	for name, c := range map[string]struct {
		got   report
		want  report // of what is counted; nothing else is compared
		sound bool
	}{
		"one after the other": {judged(3, visit(1, 0), visit(2, 1), visit(1, 2)), report{entered: 3, completed: 3}, true},
		"an overlap even when no increment is lost": {judged(2, did(enter, 1), did(enter, 2), did(leave, 1, 0), did(leave, 2, 1)),
			report{entered: 2, completed: 2, overlaps: 1}, false},
		"every pair inside":                    {judged(0, did(enter, 1), did(enter, 2), did(enter, 3)), report{entered: 3, overlaps: 3}, false},
		"a loss seen by the next":              {judged(2, visit(1, 0), visit(2, 0), visit(1, 1)), report{entered: 3, completed: 3, lost: 1}, false},
		"a loss seen at the end":               {judged(1, visit(1, 0), visit(2, 1)), report{entered: 2, completed: 2, lost: 1}, false},
		"a loss behind a dead one":             {judged(1, visit(1, 0), visit(2, 1), did(enter, 3), did(gone, 3)), report{entered: 3, completed: 2, lost: 1, killed: 1}, false},
		"a loss of everything":                 {judged(0, visit(1, 0)), report{entered: 1, completed: 1, lost: 1}, false},
		"an increment that nobody made":        {judged(2, visit(1, 0)), report{entered: 1, completed: 1, lost: -1}, false},
		"a wrong value made good by another":   {judged(3, visit(1, 0), visit(2, 0), visit(3, 2)), report{entered: 3, completed: 3}, false},
		"a lost hold is no increment":          {judged(1, did(enter, 1), did(lost, 1), visit(2, 0)), report{entered: 2, completed: 1}, true},
		"entered after a killed one was gone":  {judged(1, did(enter, 1), did(gone, 1), visit(2, 0)), report{entered: 2, completed: 1, killed: 1}, true},
		"entered before a killed one was gone": {judged(1, did(enter, 1), did(enter, 2), did(gone, 1), did(leave, 2)), report{entered: 2, completed: 1, killed: 1, overlaps: 1}, false},
		"killed before it wrote":               {judged(1, killed), report{entered: 2, completed: 1, killed: 1}, true},
		"killed after it wrote":                {judged(2, killed), report{entered: 2, completed: 1, killed: 1, byKilled: 1}, true},
		// The next worker shows which it is, so that no loss can hide behind the doubt.
		"settled, not written":              {judged(2, killed, visit(3, 1)), report{entered: 3, completed: 2, killed: 1}, true},
		"settled, written":                  {judged(3, killed, visit(3, 2)), report{entered: 3, completed: 2, killed: 1, byKilled: 1}, true},
		"no doubt lives on, if not written": {judged(3, killed, visit(3, 1)), report{entered: 3, completed: 2, killed: 1, lost: -1}, false},
		"no doubt lives on, if written":     {judged(2, killed, visit(3, 2)), report{entered: 3, completed: 2, killed: 1, byKilled: 1, lost: 1}, false},
	} {
		v := c.got
		got := report{entered: v.entered, overlaps: v.overlaps, completed: v.completed, byKilled: v.byKilled, killed: v.killed, lost: v.lost}
		if !reflect.DeepEqual(got, c.want) || v.sound() != c.sound {
			t.Errorf("%s: %+v, sound: %v", name, v, v.sound())
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
		if len(v.handOvers) != c.want || c.want == 1 && v.handOvers[0] != 250 {
			t.Errorf("%s: hand-overs %d; want %d", name, v.handOvers, c.want)
		}
	}
}

func TestARecoveryIsMeasuredFromTheKillToTheNextInside(t *testing.T) {
	t.Parallel()
	v := judged(1, []event{
		{Kind: enter, Number: 1, At: 100}, {Kind: gone, Number: 1, At: 500}, {Kind: gone, Number: 7, At: 600}, // was not inside
		{Kind: enter, Number: 2, At: 2500}, {Kind: leave, Number: 2, At: 2600}, {Kind: enter, Number: 3, At: 2700},
	})
	if want := []recovery{{killed: 1, heir: 2, after: 2000}}; !slices.Equal(v.recoveries, want) {
		t.Errorf("recoveries %v, want %v", v.recoveries, want)
	}
}

func TestAPercentileIsTheNearestRank(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, p, want int }{
		{100, 50, 50}, {100, 99, 99}, {100, 100, 100}, {1, 50, 1}, {1, 99, 1}, {2, 99, 2}, {3, 50, 2},
	} {
		if got := rank(c.n, c.p) + 1; got != c.want {
			t.Errorf("of %d values %d %% do not exceed number %d, want %d", c.n, c.p, got, c.want)
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
		if (v.overlaps > 0) != overlapped {
			t.Fatalf("%d overlaps, want some: %v", v.overlaps, overlapped)
		}
		if v.killed != kills {
			t.Fatalf("%d killed, want %d", v.killed, kills)
		}
		if int64(v.completed+v.byKilled)-v.lost != s.counter {
			t.Fatalf("%+v does not add up to %d", v, s.counter)
		}
		if !overlapped && (!v.sound() || v.completed+v.byKilled != s.written) {
			t.Fatalf("a good history with %d increments is judged %+v", s.written, v)
		}
		if overlapped && v.sound() {
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
		if v := judged(s.counter, s.events); v.sound() || v.lost != 1 {
			t.Fatalf("judged %+v", v)
		}
	})
}
