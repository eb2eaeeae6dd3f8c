package blocked

import (
	"cmp"
	"maps"
	"slices"
)

// Cycle is a closed chain of waits: the holder of each edge is the waiter of the next, and the holder of the
// last is the waiter of the first.
type Cycle struct {
	Edges []Edge `json:"edges"`
	// Sure says that the cycle is certain. Each waiter is known to hold the lock that the waiter before it
	// wants, and all waits went on at one moment. In any other cycle, another goroutine may release a lock,
	// or one wait may have ended before another began.
	Sure bool `json:"sure"`
}

// Cycles returns the cycles of the graph, the certain ones first. If some waits are part of several cycles,
// it returns one of the shortest.
func (g Graph) Cycles() []Cycle {
	sure := certain(g.Edges)
	caught := make(map[string]bool) // the processes of sure cycles
	var all []Cycle
	for _, edges := range sure {
		all = append(all, Cycle{Edges: edges, Sure: true})
		for _, e := range edges {
			caught[e.Waiter.Client] = true
		}
	}
	var rest []Edge // within one process, goroutines that wait for each other are the ordinary case
	for _, e := range g.Edges {
		if e.Waiter.Client != e.Holder.Client && !(caught[e.Waiter.Client] && caught[e.Holder.Client]) {
			rest = append(rest, e)
		}
	}
	for _, edges := range cyclesIn(rest, func(e Edge) []string { return []string{e.Waiter.Client} },
		func(e Edge) string { return e.Holder.Client }) {
		all = append(all, Cycle{Edges: edges})
	}
	return all
}

// cyclesIn finds one cycle in each strongly connected part of the graph whose arrows lead from any of
// from(e) to to(e).
func cyclesIn(edges []Edge, from func(Edge) []string, to func(Edge) string) (all [][]Edge) {
	n := newNetwork(edges, from, to)
	for _, part := range n.parts() {
		if cycle := n.cycle(part); cycle != nil {
			all = append(all, cycle)
		}
	}
	slices.SortStableFunc(all, compareCycles)
	return all
}

// compareCycles puts the cycle with the longest wait first.
func compareCycles(a, b []Edge) int {
	return cmp.Or(oldest(a).Since.Compare(oldest(b).Since), cmp.Compare(a[0].Lock, b[0].Lock))
}

// oldest is the edge of the longest wait.
func oldest(edges []Edge) Edge {
	return slices.MinFunc(edges, func(a, b Edge) int { return a.Since.Compare(b.Since) })
}

// network is a graph whose arrows are edges, by their index.
type network struct {
	leaving map[string][]int // the arrows that leave a node
	edges   []Edge
	to      func(Edge) string
}

func newNetwork(edges []Edge, from func(Edge) []string, to func(Edge) string) network {
	n := network{leaving: make(map[string][]int), edges: edges, to: to}
	for i, e := range edges {
		for _, node := range from(e) {
			n.leaving[node] = append(n.leaving[node], i)
		}
	}
	return n
}

// cycle is a shortest cycle through the least node of a strongly connected part that is on one; nil
// if there is none.
func (n network) cycle(part []string) []Edge {
	slices.Sort(part)
	inside := make(map[string]bool, len(part))
	for _, node := range part {
		inside[node] = true
	}
	start := part[0]
	came := map[string]int{} // the arrow by which a node was reached first
	via := map[string]string{}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		node := queue[0]
		for _, i := range n.leaving[node] {
			next := n.to(n.edges[i])
			if _, seen := came[next]; seen || !inside[next] {
				continue
			}
			came[next], via[next] = i, node
			if next == start {
				return n.back(start, came, via)
			}
			queue = append(queue, next)
		}
	}
	return nil
}

// back is the cycle that a search has closed.
func (n network) back(start string, came map[string]int, via map[string]string) (cycle []Edge) {
	for node := start; ; {
		cycle = append(cycle, n.edges[came[node]])
		if node = via[node]; node == start {
			break
		}
	}
	slices.Reverse(cycle)
	return cycle
}

// parts are the strongly connected parts of the network (Tarjan's algorithm, without recursion: its
// depth would be somebody else's choice).
func (n network) parts() (parts [][]string) {
	t := tarjan{network: n, index: make(map[string]int), low: make(map[string]int), on: make(map[string]bool)}
	for _, node := range slices.Sorted(maps.Keys(n.leaving)) {
		if _, seen := t.index[node]; !seen {
			t.search(node)
		}
	}
	return t.parts
}

type tarjan struct {
	network
	index, low map[string]int
	on         map[string]bool
	stack      []string
	parts      [][]string
}

// frame is a node whose arrows are being followed.
type frame struct {
	node string
	next int // the next of its arrows
}

func (t *tarjan) search(root string) {
	t.enter(root)
	for path := []frame{{node: root}}; len(path) > 0; {
		f := &path[len(path)-1]
		if f.next < len(t.leaving[f.node]) {
			to := t.to(t.edges[t.leaving[f.node][f.next]])
			f.next++
			if _, seen := t.index[to]; !seen {
				t.enter(to)
				path = append(path, frame{node: to})
			} else if t.on[to] {
				t.low[f.node] = min(t.low[f.node], t.index[to])
			}
			continue
		}
		t.leave(f.node)
		if path = path[:len(path)-1]; len(path) > 0 {
			above := path[len(path)-1].node
			t.low[above] = min(t.low[above], t.low[f.node])
		}
	}
}

func (t *tarjan) enter(node string) {
	t.index[node], t.low[node] = len(t.index), len(t.index)
	t.stack, t.on[node] = append(t.stack, node), true
}

// leave ends a node, and with the first node of a part the part.
func (t *tarjan) leave(node string) {
	if t.low[node] != t.index[node] {
		return
	}
	at := slices.Index(t.stack, node)
	part := slices.Clone(t.stack[at:])
	for _, member := range part {
		t.on[member] = false
	}
	t.stack = t.stack[:at]
	t.parts = append(t.parts, part)
}
