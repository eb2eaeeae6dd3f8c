package explore

import (
	"fmt"
	"hash/maphash"
	"strings"
	"time"
)

// Bound is where a search ends, whichever comes first.
type Bound struct {
	Depth  int
	States int
	Until  time.Time
}

// Result is the outcome of a search.
type Result struct {
	Kind        string
	States      int
	Transitions int
	Scripts     int  // that were run: the rest were known already
	Depth       int  // up to which every interleaving was explored
	Whole       bool // there is nothing beyond
	Took        time.Duration
	Violation   *Violation
}

// Violation is a state that must not occur, and the shortest trace to it.
type Violation struct {
	What  string
	Trace []string
	Keys  string
}

// String is the violation as it is reported.
func (v *Violation) String() string {
	var b strings.Builder
	for i, line := range v.Trace {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, line)
	}
	return short.Replace(fmt.Sprintf("%s\n%swhich leaves\n%s", v.What, b.String(), v.Keys))
}

// String is the result in one line.
func (r Result) String() string {
	extent := fmt.Sprintf("complete to depth %d", r.Depth)
	if r.Whole {
		extent = fmt.Sprintf("the whole, depth %d", r.Depth)
	}
	return fmt.Sprintf("%-34s %9d states, %10d transitions, %7d scripts run, %s, %.0f/s",
		r.Kind, r.States, r.Transitions, r.Scripts, extent, float64(r.Transitions)/max(r.Took.Seconds(), 1e-3))
}

// node is one state in the tree of the shortest ways.
type node struct {
	parent int32
	move   uint16 // which of the parent's moves led here
}

// space is what can be searched: states, and the moves between them.
type space[S comparable] interface {
	begin() S
	moves(from S, yield func(to S, fault string, say func() string))
	check(at *S) string // what is wrong with it
	show(at S) string   // the keys
}

// search is one breadth-first search.
type search[S comparable] struct {
	space space[S]
	bound Bound
	seeds [2]maphash.Seed
	seen  map[[2]uint64]struct{}
	nodes []node
	next  []visit[S]
	Result
}

type visit[S comparable] struct {
	state S
	node  int32
}

// explore visits every state of a world, the nearest first, until one violates a promise.
func (w *world) explore(bound Bound) Result {
	r := explore[state](w, bound)
	r.Kind, r.Scripts = w.name, len(w.redis.outcomes)
	return r
}

func (w *world) begin() state         { return w.start }
func (w *world) show(at state) string { return w.redis.all[at.keys].String() }

func explore[S comparable](of space[S], bound Bound) Result {
	began := time.Now()
	s := &search[S]{
		space: of, bound: bound, seen: map[[2]uint64]struct{}{},
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
	s.visit(of.begin(), -1, 0)
	for s.level() {
		s.Depth++
	}
	s.States, s.Took = len(s.seen), time.Since(began)
	return s.Result
}

// level makes every move from the states of one depth. It reports false if that was not
// completed, or led nowhere.
func (s *search[S]) level() bool {
	from := s.next
	s.next = nil
	if s.Depth == s.bound.Depth {
		return false
	}
	for i := range from {
		if i%1024 == 0 && time.Now().After(s.bound.Until) || len(s.seen) > s.bound.States {
			return false
		}
		move := uint16(0)
		s.space.moves(from[i].state, func(to S, fault string, _ func() string) {
			s.Transitions++
			if s.Violation == nil {
				s.arrive(to, fault, from[i].node, move)
			}
			move++
		})
		if s.Violation != nil {
			return false
		}
	}
	s.Whole = len(s.next) == 0
	return !s.Whole
}

func (s *search[S]) arrive(to S, fault string, parent int32, move uint16) {
	fresh := s.visit(to, parent, move)
	if fault == "" && fresh {
		fault = s.space.check(&to)
	}
	if fault != "" {
		s.nodes = append(s.nodes, node{parent, move})
		s.Violation = &Violation{fault, s.trace(int32(len(s.nodes) - 1)), s.space.show(to)}
	}
}

// visit notes a state to go on from, unless it was reached before.
func (s *search[S]) visit(at S, parent int32, move uint16) bool {
	hash := [2]uint64{maphash.Comparable(s.seeds[0], at), maphash.Comparable(s.seeds[1], at)}
	if _, seen := s.seen[hash]; seen {
		return false
	}
	s.seen[hash] = struct{}{}
	s.nodes = append(s.nodes, node{parent, move})
	s.next = append(s.next, visit[S]{at, int32(len(s.nodes) - 1)})
	return true
}

// trace describes the moves that lead to a node.
func (s *search[S]) trace(at int32) (lines []string) {
	var path []uint16
	for ; s.nodes[at].parent >= 0; at = s.nodes[at].parent {
		path = append(path, s.nodes[at].move)
	}
	now := s.space.begin()
	for i := len(path) - 1; i >= 0; i-- {
		move, before := uint16(0), now
		s.space.moves(before, func(to S, _ string, say func() string) {
			if move == path[i] {
				now = to
				lines = append(lines, say())
			}
			move++
		})
	}
	return lines
}
