package blocked_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/inspect/blocked"
)

// draw makes a graph of lines "waiter[+under…] lock holder [since-confirmed]". A party a1 is owner 1 of the
// client a. Without times the waits begin one after another, and are confirmed when all have begun.
func draw(lines ...string) (g blocked.Graph) {
	party := func(owner string) blocked.Party { return blocked.Party{Owner: owner, Client: owner[:1]} }
	for i, line := range lines {
		words := append(strings.Fields(line), fmt.Sprintf("%d-%d", 1000+i, 1000+len(lines)))
		own := strings.Split(words[0], "+")
		e := blocked.Edge{Waiter: party(own[0]), Under: own[1:], Lock: words[1], Holder: party(words[2]), Mode: blocked.ModeExclusive}
		var since, confirmed int64
		if n, _ := fmt.Sscanf(words[3], "%d-%d", &since, &confirmed); n > 0 {
			e.Since = time.UnixMilli(since)
		}
		if confirmed > 0 {
			e.Confirmed = time.UnixMilli(confirmed)
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

func TestNamesInJSONAreThoseOfTheLockAndItsOwners(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(blocked.Edge{
		Lock: "\xff", Waiter: blocked.Party{Owner: "\xfe:1", Client: "\xfe"}, Holder: blocked.Party{Owner: "\xfd:1", Client: "\xfd"}, Under: []string{"\xfe:2"},
	})
	for _, want := range []string{`"lock":"\"\\xff\""`, `"owner":"\"\\xfe:1\""`, `"client":"\"\\xfd\""`, `"under":["\"\\xfe:2\""]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s, %v", want, text, err)
		}
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ lines, want string }{
		"nobody waits":                     {"", ""},
		"one waits":                        {"a1 x b1", ""},
		"a chain":                          {"a1+a2 x b1, b3+b1 y c1", ""},
		"two":                              {"a1+a2 x b1, b3+b1 y a2", "sure: exclusive x exclusive y"},
		"two, of whose holds nobody knows": {"a1 x b1, b3 y a2", "possible: exclusive x exclusive y"},
		"two, one of which is known":       {"a1+a2 x b1, b3 y a2", "possible: exclusive x exclusive y"},
		"three":                            {"a1+a9 x b9, b1+b9 y c9, c1+c9 z a9", "sure: exclusive x exclusive y exclusive z"},
		"two of Java, the thread is known": {"a1 x b1, b1 y a1", "sure: exclusive x exclusive y"},
		"goroutines of one process":        {"a1+a2 x a3, a4+a3 y a2", "sure: exclusive x exclusive y"},
		"ordinary waits in one process":    {"a1 x a2, a3 y a4", ""},
		"others wait for them":             {"a1+a2 x b1, b3+b1 y a2, c1 x b1, d1 z c1", "sure: exclusive x exclusive y"},
		"two cycles":                       {"a1+a2 p b1, b3+b1 q a2, c1+c2 r d1, d3+d1 s c2", "sure: exclusive p exclusive q; sure: exclusive r exclusive s"},
		"a sure one and a possible one":    {"c1 r d1, d3 s c2, a1+a2 p b1, b3+b1 q a2", "sure: exclusive p exclusive q; possible: exclusive r exclusive s"},
		"a sure one is not told again":     {"a1+a2 p b1, b3+b1 q a2, a5 p b1, b7 q a2", "sure: exclusive p exclusive q"},
		"of two ways the shorter one":      {"a1+a9 l b9, b1+b9 m c9, c1+c9 n a9, b2+b9 k a9", "sure: exclusive k exclusive l"},
		"an owner that waits for its own":  {"a1+a9 x a9", "sure: exclusive x"},

		"the first ended before the second began":    {"a1+a2 x b1 10-19, b3+b1 y a2 20-29", "possible: exclusive x exclusive y"},
		"the same in the other order":                {"a1+a2 x b1 20-29, b3+b1 y a2 10-19", "possible: exclusive x exclusive y"},
		"they met for a moment":                      {"a1+a2 x b1 10-20, b3+b1 y a2 20-20", "sure: exclusive x exclusive y"},
		"two of three met":                           {"a1+a9 x b9 10-19, b1+b9 y c9 10-30, c1+c9 z a9 20-30", "possible: exclusive x exclusive y exclusive z"},
		"an older client does not confirm":           {"a1+a2 x b1 10, b3+b1 y a2 20-90", "possible: exclusive x exclusive y"},
		"a queue does not say since when":            {"a1 x b1 -, b1 y a1 -", "possible: exclusive x exclusive y"},
		"nobody shows those of one process":          {"a1+a2 x a3 10-19, a4+a3 y a2 20-29", ""},
		"the shorter way did not meet, another did":  {"a1+a9 l b9 10-90, b2+b9 k a9 95-99, b1+b9 m c9 20-90, c1+c9 n a9 30-90", "sure: exclusive l exclusive m exclusive n"},
		"a wait that ended is beside those that met": {"a1+a2 p b1 10-11, a5+a2 p b1 20-30, b3+b1 q a2 20-30", "sure: exclusive p exclusive q"},
	} {
		var lines []string
		if c.lines != "" {
			lines = strings.Split(c.lines, ", ")
		}
		var got []string
		for _, cycle := range draw(lines...).Cycles() {
			got = append(got, show(cycle))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", what, text, c.want)
		}
	}
}

// Goal: whatever the graph is, a cycle is one, and there is one if and only if walking back from every
// wait does not come to an end.
func TestCyclesOfRandomGraphs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var lines []string
		for i := range 1 + random.IntN(12) {
			lines = append(lines, fmt.Sprintf("w%d+h%d x%d h%d", i, random.IntN(8), i, random.IntN(8)))
		}
		g := draw(lines...)
		cycles := g.Cycles()
		for _, c := range cycles {
			for i, e := range c.Edges {
				if next := c.Edges[(i+1)%len(c.Edges)]; next.Under[0] != e.Holder.Owner {
					t.Fatalf("%v: %v is not closed", lines, c)
				}
			}
		}
		if (len(cycles) > 0) != loops(g.Edges) {
			t.Fatalf("%v: the cycles are %v", lines, cycles)
		}
		size := 0
		var count func(all []blocked.Blocked)
		count = func(all []blocked.Blocked) {
			for _, b := range all {
				if !b.Again {
					size++
				}
				count(b.Blocks)
			}
		}
		for _, root := range g.Tree() {
			count(root.Blocks)
		}
		if size != len(g.Edges) {
			t.Fatalf("%v: the tree has %d of %d waits", lines, size, len(g.Edges))
		}
	}
}

// Goal: there is a certain cycle if and only if there is one among the waits that went on at some moment.
// Method: random waits with random times; each moment at which one was confirmed is tried.
func TestCertainCyclesOfRandomGraphs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	both := [2]int{}
	for range 5000 {
		var lines []string
		for i := range 1 + random.IntN(14) {
			since := random.IntN(10)
			lines = append(lines, fmt.Sprintf("w%d+h%d x%d h%d %d-%d", i, random.IntN(6), i, random.IntN(6), 1+since, 1+since+random.IntN(10)))
		}
		g := draw(lines...)
		want := false
		for _, last := range g.Edges {
			at := last.Confirmed
			want = want || loops(slices.DeleteFunc(slices.Clone(g.Edges), func(e blocked.Edge) bool { return e.Since.After(at) || e.Confirmed.Before(at) }))
		}
		got := false
		for _, c := range g.Cycles() {
			got = got || c.Sure
			for _, e := range c.Edges {
				for _, other := range c.Edges {
					if c.Sure && e.Since.After(other.Confirmed) {
						t.Fatalf("%v: in %v a wait had ended before another began", lines, c)
					}
				}
			}
		}
		if got != want {
			t.Fatalf("%v: a certain cycle was found: %v, want %v", lines, got, want)
		}
		both[map[bool]int{true: 1}[want]]++
	}
	if min(both[0], both[1]) < 500 {
		t.Errorf("the graphs are too much alike: %v", both)
	}
}

// Goal: many waits with a time of their own each do not take long.
func TestAHostileGraphIsSearchedInABoundedTime(t *testing.T) {
	t.Parallel()
	var lines []string
	const waits = 8000
	for i := range waits { // each begins when the one before it has ended
		lines = append(lines, fmt.Sprintf("w%d+h%d x%d h%d %d-%d", i, i, i, (i+1)%waits, 10+10*i, 15+10*i))
	}
	g := draw(lines...)
	began := time.Now()
	if cycles := g.Cycles(); len(cycles) > 0 && cycles[0].Sure {
		t.Error("waits that never met are a certain cycle")
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// loops takes away the waits that block nobody, again and again: what is left is in cycles.
func loops(edges []blocked.Edge) bool {
	for {
		rest := slices.DeleteFunc(slices.Clone(edges), func(e blocked.Edge) bool {
			return !slices.ContainsFunc(edges, func(other blocked.Edge) bool { return other.Holder.Owner == e.Under[0] })
		})
		if len(rest) == len(edges) {
			return len(edges) > 0
		}
		edges = rest
	}
}

// outline is a tree in words.
func outline(roots []blocked.Blocker) string {
	var lines []string
	var below func(depth int, all []blocked.Blocked)
	below = func(depth int, all []blocked.Blocked) {
		for _, b := range all {
			lines = append(lines, strings.Repeat(">", depth)+b.Waiter.Owner+" "+b.Lock+map[bool]string{true: " again"}[b.Again])
			below(depth+1, b.Blocks)
		}
	}
	for _, root := range roots {
		line := root.Owner
		for _, w := range root.Waits {
			line += " ?" + w.Lock
		}
		lines = append(lines, line)
		below(1, root.Blocks)
	}
	return strings.Join(lines, ", ")
}

func TestTree(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ lines, want string }{
		"nobody waits":                   {"", ""},
		"a chain":                        {"a1+a2 x b1, b3+b1 y c1", "c1, >b3 y, >>a1 x"},
		"who blocks the most is first":   {"a1 x b1, c1 y d1, e1 y d1", "d1, >c1 y, >e1 y, b1, >a1 x"},
		"a process that waits elsewhere": {"a1 x b1, b3 y c1", "b1 ?y, >a1 x, c1, >b3 y"},
		"a cycle has no root":            {"a1+a2 x b1, b3+b1 y a2, c1 x b1", "b1, >a1 x, >>b3 y, >>>a1 x again, >>>c1 x again, >c1 x"},
	} {
		var lines []string
		if c.lines != "" {
			lines = strings.Split(c.lines, ", ")
		}
		if got := outline(draw(lines...).Tree()); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
