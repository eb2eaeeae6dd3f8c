package supervise

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// root is this process, from which the tree descends.
type root struct {
	self int
	// others are children that this process had before it started the command: a
	// shell may have left them to it by exec. They are none of its business.
	others map[identity]bool
}

// newRoot makes this process the reaper of its descendants: when one of them ends that is no
// reaper itself, its children become ours, and not those of process 1, where nobody could find them.
func newRoot() root {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	r := root{self: os.Getpid(), others: map[identity]bool{}}
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err == unix.ECHILD {
		return r
	}
	all, _ := readProcesses()
	for _, p := range all {
		if p.parent == r.self {
			r.others[p.identity] = true
		}
	}
	return r
}

// adoptsAll says that every child of this process is of the tree.
func (r root) adoptsAll() bool { return len(r.others) == 0 }

// descendants are those of all that are alive.
func (r root) descendants(all []process) []process {
	children := make(map[int][]process)
	for _, p := range all {
		if !r.others[p.identity] {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []process
	for open := []int{r.self}; len(open) > 0; {
		parent := open[0]
		open = open[1:]
		for _, p := range children[parent] {
			open = append(open, p.pid)
			if !p.ended {
				found = append(found, p)
			}
		}
	}
	return found
}

// walk visits the living descendants, parents first, until visit returns false. It reads no process
// beside them. So it is quick, however many others there are, but may miss one while others come and go.
func (r root) walk(visit func(process) bool) error {
	for open := []process{{identity: identity{pid: r.self}}}; len(open) > 0; open = open[1:] {
		parent := open[0].pid
		children, err := readChildren(open[0])
		if err != nil && parent == r.self {
			return err
		}
		for _, pid := range children {
			p, err := readProcess(pid)
			if err != nil && parent == r.self {
				// It is there until we wait for it. Somebody hides it, or there is no file to be had.
				p, err = process{identity: identity{pid: pid}, parent: parent}, nil
				p.group, _ = unix.Getpgid(pid)
			}
			if err != nil || r.others[p.identity] {
				continue
			}
			open = append(open, p)
			if !p.ended && !visit(p) {
				return nil
			}
		}
	}
	return nil
}

// each visits the living members of the process tree, until visit returns false. The error says that
// /proc does not tell.
func (t *processTree) each(visit func(process) bool) error {
	if t.childless {
		return nil // orphans become our children, so nobody descends from us
	}
	found := false
	err := t.root.walk(func(p process) bool {
		found = true
		return visit(p)
	})
	if found && err == nil {
		return nil
	}
	all, err := readProcesses() // that nobody is left has to be certain
	for _, p := range t.root.descendants(all) {
		if !visit(p) {
			break
		}
	}
	return err
}

// members are the living members.
func (t *processTree) members(where scope) (members []process, err error) {
	err = t.each(func(p process) bool {
		if where == anywhere || p.group == t.leader {
			members = append(members, p)
		}
		return true
	})
	return members, err
}

// scan gets to know the members, until a moment at the most, and takes a handle of each. It gives those
// that it did not know to fresh, each at once: a tree of thousands is not walked through before the first
// of them gets a signal.
func (t *processTree) scan(until time.Time, fresh func(process)) error {
	began := time.Now()
	before := make(map[identity]int, len(t.known)) // handles
	for _, p := range t.known {
		before[p.identity] = p.handle
	}
	seen := make(map[identity]bool, len(t.known))
	known := make([]process, 0, len(t.known))
	complete := true
	err := t.each(func(p process) bool {
		if seen[p.identity] {
			return true
		}
		seen[p.identity] = true
		if p.handle = before[p.identity]; p.handle == 0 {
			p.hold(t.root.self)
			fresh(p)
		}
		if p.handle > 0 {
			known = append(known, p)
		}
		complete = !passed(until, time.Now())
		return complete
	})
	for _, p := range t.known {
		switch {
		case seen[p.identity]:
		case complete:
			unix.Close(p.handle)
		default:
			known = append(known, p)
		}
	}
	t.known, t.walk = known, min(time.Since(began), time.Duration(len(known))*slowest)
	return err
}

// slowest is how long a walk takes for one process at most. What takes longer is a pause, after which a small tree would
// look large. On two cores it was 30 µs, and 250 µs where they were very busy.
const slowest = 500 * time.Microsecond

// signal sends signals to each member. Those that are known get them at once, children first: if the
// parent of stopped processes dies, the kernel continues them. The leader's group gets them as one, as long
// as its leader is not reaped: after that, the number of a group that has become empty may come to stand
// for another. Those that are not known get them while they are being found, until a moment at the most.
func (t *processTree) signal(where scope, until time.Time, numbers ...unix.Signal) {
	asGroup := !t.reaped
	if asGroup && where == inGroup {
		t.signalGroup(numbers)
		return
	}
	tell := func(p process) {
		p.group, _ = unix.Getpgid(p.pid) // it may have left the group since it was read
		if where == anywhere && !(asGroup && p.group == t.leader) || where == inGroup && p.group == t.leader {
			p.signal(t.root.self, numbers)
		}
	}
	for _, p := range slices.Backward(t.known) {
		tell(p)
	}
	if asGroup {
		t.signalGroup(numbers)
	}
	if err := t.scan(until, tell); err != nil && !asGroup {
		t.signalGroup(numbers)
	}
}

// left are the members that are alive.
func (t *processTree) left(where scope) []int {
	members, err := t.members(where)
	if err != nil {
		return t.groupLeft()
	}
	var pids []int
	for _, p := range members {
		pids = append(pids, p.pid)
	}
	return pids
}

// running says that a member runs: one that is alive and not stopped.
func (t *processTree) running() bool {
	all, err := readProcesses()
	return err != nil || slices.ContainsFunc(t.root.descendants(all), func(p process) bool { return !p.stopped })
}
