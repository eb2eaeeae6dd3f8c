package blocked

import (
	"encoding/json"
	"slices"
)

// Blocker is an owner that holds locks that others wait for.
type Blocker struct {
	Party
	// Blocks are the waits for the locks that the owner holds.
	Blocks []Blocked `json:"blocks"`
	// Waits are at most five waits of other owners of the same process. The goroutine of this owner may be in one
	// of them, if it passed another context to Lock.
	Waits []Edge `json:"waits,omitempty"`
}

// Blocked is one wait, and the waits for the locks that its owner is known to hold.
type Blocked struct {
	Edge
	Blocks []Blocked `json:"blocks,omitempty"`
	// Again says that the tree has this wait and all below it at another place. That happens in a cycle.
	Again bool `json:"again,omitempty"`
}

// MarshalJSON writes the wait with what is below it. Without it, that of Edge would leave out the rest.
func (b Blocked) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainEdge
		Blocks []Blocked `json:"blocks,omitempty"`
		Again  bool      `json:"again,omitempty"`
	}{b.plain(), b.Blocks, b.Again})
}

// Tree returns who blocks whom. First come the root blockers, which are not known to wait. Among them, the one
// that blocks the most waits is the first. Then come the blockers of cycles, which have no root.
func (g Graph) Tree() []Blocker {
	t := tree{byHolder: make(map[string][]int), edges: g.Edges, shown: make([]bool, len(g.Edges))}
	waiting := make(map[string]bool) // the owners that are known to wait
	for i, e := range g.Edges {
		t.byHolder[e.Holder.Owner] = append(t.byHolder[e.Holder.Owner], i)
		waiting[e.Waiter.Owner] = true
		for _, owner := range e.Under {
			waiting[owner] = true
		}
	}
	var roots []Blocker
	for _, looped := range []bool{false, true} {
		first := len(roots)
		for i, e := range g.Edges {
			if !t.shown[i] && waiting[e.Holder.Owner] == looped {
				roots = append(roots, Blocker{Party: e.Holder, Blocks: t.below([]string{e.Holder.Owner}, 0), Waits: t.waitsOf(e.Holder)})
			}
		}
		slices.SortStableFunc(roots[first:], func(a, b Blocker) int { return size(b.Blocks) - size(a.Blocks) })
	}
	return roots
}

// maxDepth bounds the depth of the tree, and so the stack.
const maxDepth = 100

type tree struct {
	byHolder map[string][]int // edges by their holder
	edges    []Edge
	shown    []bool
}

// below are the waits for what some owners hold. A wait stands as high in the tree as it can.
func (t *tree) below(owners []string, depth int) (all []Blocked) {
	for _, owner := range owners {
		for _, i := range t.byHolder[owner] {
			again := t.shown[i] || depth == maxDepth
			t.shown[i] = t.shown[i] || !again
			all = append(all, Blocked{Edge: t.edges[i], Again: again})
		}
	}
	for i := range all {
		if b := &all[i]; !b.Again {
			b.Blocks = t.below(append([]string{b.Waiter.Owner}, b.Under...), depth+1)
		}
	}
	return all
}

// maxWaits is how many waits of a root's process are named.
const maxWaits = 5

// waitsOf are waits of the owner's process.
func (t *tree) waitsOf(p Party) (waits []Edge) {
	for _, e := range t.edges {
		if e.Waiter.Client == p.Client && !slices.Contains(knownHolds(e), p.Owner) && len(waits) < maxWaits {
			waits = append(waits, e)
		}
	}
	return waits
}

// size is how many waits there are.
func size(all []Blocked) int {
	n := len(all)
	for _, b := range all {
		n += size(b.Blocks)
	}
	return n
}
