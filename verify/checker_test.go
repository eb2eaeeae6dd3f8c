package verify_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/verify"
)

// story is a record of holds, in a shape that a test can write down.
type story struct {
	verify.Checker
	ahead map[string]time.Duration // each clock
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// hold adds a hold of a lock, in milliseconds of true time. Kind "" is a mutex.
func (s *story) hold(clock, owner string, token int64, from, to int, kind string) {
	s.holdUntil("released", clock, owner, token, from, to, kind)
}

func (s *story) holdUntil(end, clock, owner string, token int64, from, to int, kind string) {
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms)*time.Millisecond + s.ahead[clock]) }
	l := verify.Line{At: at(from), Clock: clock, Event: "acquired", Lock: "stock", Kind: kind, Owner: owner, Token: token, Since: at(from), Left: 30_000_000}
	s.Add(l)
	l.Event = "recalled" // which ends nothing
	s.Add(l)
	l.At, l.Event = at(to), end
	s.Add(l)
}

func (s *story) found(t *testing.T, want ...string) {
	t.Helper()
	report := s.Check()
	var got []string
	for _, f := range report.Findings {
		got = append(got, fmt.Sprintf("%s %v", f.Kind, f.By.Round(time.Millisecond)))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("found %q, want %q: %v", got, want, report)
	}
}

func TestOneClockTellsOverlapsFromHandOvers(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		token int64 // of the second hold
		from  int
		kind  string
		want  []string
	}{
		"one after the other":    {0, 110, "mutex", nil},
		"an overlap":             {0, 60, "mutex", []string{"overlap 40ms"}},
		"readers":                {0, 60, "read", nil},
		"permits":                {0, 60, "permit", nil},
		"an overlap in tokens":   {2, 60, "mutex", []string{"overlap 40ms"}},
		"tokens that go on":      {2, 110, "mutex", nil},
		"a token that goes back": {-1, 110, "mutex", []string{"token back 0s"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var s story
			first := test.token
			if first < 0 {
				first, test.token = 5, 4
			} else if first > 0 {
				first = 1
			}
			s.hold("a", "o1", first, 0, 100, test.kind)
			s.hold("a", "o2", test.token, test.from, 200, test.kind)
			s.found(t, test.want...)
		})
	}
}

// handOvers passes a lock with tokens to and fro between two machines, and returns the next token.
func (s *story) handOvers(n int, from int) int64 {
	for i := range n {
		s.hold([]string{"a", "b"}[i%2], []string{"o1", "o2"}[i%2], int64(i+1), from+i*100, from+i*100+90, "write")
	}
	return int64(n + 1)
}

func TestClocksThatDifferExcuseNothingThatTokensRefute(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 5 * time.Second, -3 * time.Hour} {
		s := story{ahead: map[string]time.Duration{"b": ahead}}
		token := s.handOvers(20, 0)
		s.found(t)
		if b := s.Check().Clocks; len(b) != 1 || b[0].Least > ahead || b[0].Most < ahead || b[0].Most-b[0].Least > 25*time.Millisecond {
			t.Errorf("b is %v ahead, and the tokens say %v", ahead, b)
		}
		s.hold("a", "o1", token, 2000, 2500, "write")
		s.hold("b", "o2", token+1, 2300, 2600, "write") // 200 ms too early
		if got := s.Check().Findings; len(got) != 1 || got[0].Kind != "overlap" || got[0].By < 180*time.Millisecond || got[0].By > 200*time.Millisecond {
			t.Errorf("b is %v ahead: found %v", ahead, got)
		}
		s.holdUntil("detached", "a", "o1", token+2, 3000, 3100, "write") // and on by a ticket
		s.hold("b", "o3", token+2, 3150, 3200, "write")
		if got := s.Check().Findings; len(got) != 1 {
			t.Errorf("b is %v ahead, a ticket: found %v", ahead, got)
		}
		s.hold("a", "o4", token+3, 3300, 3400, "write")
		s.hold("b", "o5", token+3, 3450, 3500, "write")
		if got := s.Check().Findings; len(got) != 2 || got[0].Kind != "token back" && got[1].Kind != "token back" {
			t.Errorf("b is %v ahead, one token: found %v", ahead, got)
		}
	}
}

func TestHoldsWithoutTokensAreComparedWithinWhatTokensSay(t *testing.T) {
	t.Parallel()
	linked := func() *story {
		s := &story{ahead: map[string]time.Duration{"b": 5 * time.Second}}
		s.handOvers(20, 0)
		return s
	}
	plain := func(s *story, from int) {
		for _, one := range []struct {
			clock, owner string
			from, to     int
		}{{"a", "o3", 1000, 1100}, {"b", "o4", from, from + 100}} {
			at := noon.Add(time.Duration(one.from)*time.Millisecond + s.ahead[one.clock])
			l := verify.Line{At: at, Clock: one.clock, Event: "acquired", Lock: "plain", Kind: "mutex", Owner: one.owner, Since: at}
			s.Add(l)
			l.At, l.Event = at.Add(100*time.Millisecond), "released"
			l.Left = 1
			s.Add(l)
		}
	}
	s := linked()
	plain(s, 1050)
	if got := s.Check(); len(got.Findings) != 1 || got.Findings[0].By < 25*time.Millisecond || got.Undecided != 0 {
		t.Errorf("an overlap of 50 ms: %v", got)
	}
	s = linked()
	plain(s, 1130)
	if got := s.Check(); len(got.Findings) != 0 || got.Undecided != 0 {
		t.Errorf("30 ms apart: %v", got)
	}
	s = linked()
	plain(s, 1095)
	if got := s.Check(); len(got.Findings) != 0 || got.Undecided != 1 {
		t.Errorf("an overlap of 5 ms, which the clocks may explain: %v", got)
	}
	s = &story{}
	plain(s, 1050)
	if got := s.Check(); len(got.Findings) != 0 || got.Undecided != 1 {
		t.Errorf("no token links the clocks: %v", got)
	}
	s.Clocks = 20 * time.Millisecond
	if got := s.Check(); len(got.Findings) != 1 || got.Findings[0].By != 30*time.Millisecond {
		t.Errorf("the clocks differ by 20 ms at most: %v", got)
	}
}

func TestTheEndOfAHoldIsComparedWithItsDeadline(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		event, loss string
		left        time.Duration
		want        string
	}{
		{"released", "", -50 * time.Millisecond, "past deadline 50ms"},
		{"released", "", time.Second, ""},
		{"released", "gone", -50 * time.Millisecond, ""},
		{"lost", "expired", -50 * time.Millisecond, ""},
		{"lost", "expired", -2 * time.Second, "late loss 2s"},
		{"released", "gone", -2 * time.Second, "late loss 2s"},
		{"closed", "gone", -2 * time.Second, "late loss 2s"},
	} {
		var s story
		l := verify.Line{At: noon, Clock: "a", Event: "acquired", Lock: "stock", Kind: "mutex", Owner: "o1", Since: noon}
		s.Add(l)
		l.At, l.Event, l.Loss, l.Left = noon.Add(time.Minute), test.event, test.loss, test.left.Microseconds()
		s.Add(l)
		if test.want == "" {
			s.found(t)
		} else {
			s.found(t, test.want)
		}
	}
}

// A hold that nobody is known to have ended may have ended long ago: its process may have died.
func TestAHoldWithoutAnEndAccusesNobody(t *testing.T) {
	t.Parallel()
	var s story
	l := verify.Line{At: noon, Clock: "a", Event: "acquired", Lock: "stock", Kind: "mutex", Owner: "o1", Since: noon}
	s.Add(l)
	l.At, l.Event = noon.Add(10*time.Second), "renewed"
	s.Add(l)
	s.hold("a", "o2", 0, 10_500, 11_000, "mutex")
	s.found(t)
	s.hold("a", "o3", 0, 9_000, 9_500, "mutex")
	s.found(t, "overlap 500ms")
}

// Goal: clocks hours apart, which drift until they agree, hide no overlap, and cost no comparison of each hold with
// all others of these hours.
func TestHoldsAreComparedInTheTimeOfOneClock(t *testing.T) {
	t.Parallel()
	const day = 24 * 3600 * 1000
	s := story{ahead: map[string]time.Duration{"b": 3 * time.Hour}}
	token := s.handOvers(20, 0)
	for i := range 5000 {
		s.hold([]string{"a", "b"}[i%2], []string{"o1", "o2"}[i%2], 0, 2000+20*i, 2010+20*i, "write")
	}
	s.hold("a", "o3", 0, 2000+20*5000, 2100+20*5000, "write")
	s.hold("b", "o4", 0, 2000+20*5000, 2500+20*5000, "write")
	s.ahead["b"] = 0
	s.hold("b", "o2", token, 300*day, 300*day+50, "write")
	s.hold("a", "o1", token+1, 300*day+60, 300*day+90, "write")
	s.hold("b", "o2", token+2, 300*day+100, 300*day+150, "write")
	if got := s.Check().Findings; len(got) != 1 || got[0].Kind != "overlap" || got[0].By < 30*time.Millisecond {
		t.Errorf("one overlap of 100 ms: found %v", got)
	}
}

// Goal: of very many readers with tokens none is compared with all others, and none of them hides a writer.
func TestReadersAreComparedWithWritersAlone(t *testing.T) {
	t.Parallel()
	var s story
	s.hold("a", "writer", 1, 0, 50, "write")
	for i := range 40_000 {
		s.hold("a", fmt.Sprint("o", i), int64(i+2), 45+i*10, 60+i*10, "read")
	}
	s.hold("a", "writer", 40_002, 400_045, 400_060, "write")
	began := time.Now()
	s.found(t, "overlap 5ms", "overlap 5ms")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A token that several holds have is one place in the order of tokens, whatever the clocks of these holds say.
func TestHoldsWithOneTokenAreOnePlaceInTheOrder(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		tell func(s *story)
		want []string
	}{
		"re-entries end before the first hold": {func(s *story) {
			s.hold("a", "o1", 1, 0, 100, "mutex")
			s.hold("a", "o1", 1, 10, 20, "mutex")
			s.hold("a", "o2", 2, 50, 120, "mutex")
		}, []string{"overlap 50ms"}},
		"a ticket came from a clock that is ahead": {func(s *story) {
			s.ahead = map[string]time.Duration{"b": time.Hour}
			s.holdUntil("detached", "b", "o1", 1, 0, 10, "mutex")
			s.hold("a", "o2", 1, 20, 100, "mutex")
			s.hold("a", "o3", 2, 50, 120, "mutex")
		}, []string{"overlap 50ms"}},
		"a ticket after a re-entry that was released": {func(s *story) {
			s.holdUntil("detached", "a", "o1", 1, 0, 100, "mutex")
			s.hold("a", "o1", 1, 10, 20, "mutex")
			s.hold("a", "o2", 1, 110, 120, "mutex")
		}, nil},
		"a ticket beside a re-entry of the same moment without a token": {func(s *story) {
			outer := verify.Line{At: noon, Clock: "a", Event: "acquired", Lock: "stock", Kind: "mutex", Owner: "o1", Token: 1, Since: noon}
			s.Add(outer)
			s.hold("a", "o1", 0, 0, 20, "mutex")
			outer.Event = "detached"
			s.Add(outer)
			s.hold("a", "o2", 1, 110, 120, "mutex")
		}, nil},
		"a ticket after the end of a re-entry that replicas had not": {func(s *story) {
			for _, event := range []string{"acquired", "released", "detached"} {
				s.Add(verify.Line{At: noon, Clock: "a", Event: event, Lock: "stock", Kind: "mutex", Owner: "o1", Token: 1, Since: noon})
			}
			s.hold("a", "o2", 1, 110, 120, "mutex")
		}, nil},
		"two on one machine, and no ticket": {func(s *story) {
			s.hold("a", "o1", 1, 0, 10, "mutex")
			s.hold("a", "o2", 1, 20, 30, "mutex")
		}, []string{"token back 0s"}},
		"the end of the first hold is not in the record yet": {func(s *story) {
			s.Add(verify.Line{At: noon, Clock: "a", Event: "acquired", Lock: "stock", Kind: "mutex", Owner: "o1", Token: 1, Since: noon})
			s.hold("b", "o2", 1, 20, 30, "mutex")
		}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var s story
			test.tell(&s)
			s.found(t, test.want...)
		})
	}
}

// A record with more overlaps than are named says so. What is left of it bounds no difference of the clocks.
func TestOverlapsThatAreLeftOutAreSaid(t *testing.T) {
	t.Parallel()
	for _, overlaps := range []int{100, 101} {
		s := story{ahead: map[string]time.Duration{"b": 3 * time.Second}}
		token, at := s.handOvers(20, 0), 3000
		for range overlaps {
			s.hold("a", "o1", token, at, at+500, "write")
			s.hold("b", "o2", token+1, at+300, at+600, "write")
			s.hold("a", "o1", token+2, at+650, at+700, "write")
			s.hold("b", "o2", token+3, at+750, at+800, "write")
			token, at = token+4, at+1000
		}
		report := s.Check()
		last := report.Findings[len(report.Findings)-1].Text
		known := report.Clocks[0].Most-report.Clocks[0].Least < time.Second
		if cut := overlaps > 100; len(report.Findings) != 100 || strings.Contains(last, "left out") != cut || known == cut {
			t.Errorf("of %d overlaps %d are found, the last one is %q: %v", overlaps, len(report.Findings), last, report.Clocks)
		}
	}
}

// Goal: a record without an end takes no more memory for more holds, whatever became of them.
func TestForgottenHoldsTakeNoMemory(t *testing.T) {
	var s story
	record := func(from, to int) uint64 {
		for i := from; i < to; i++ {
			s.holdUntil([]string{"released", "detached", "renewed"}[i%3], "a", fmt.Sprint("o", i), int64(i+1), i*10, i*10+5, []string{"mutex", "permit"}[i/3%2])
			if i%1000 == 0 {
				s.Forget(1000)
			}
		}
		s.Forget(1000)
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	before := record(0, 10_000)
	if after := record(10_000, 100_000); after > before+1<<20 {
		t.Errorf("90,000 more holds take %d bytes", after-before)
	}
	s.found(t)
}
