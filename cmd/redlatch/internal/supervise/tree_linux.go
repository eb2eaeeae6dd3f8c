package supervise

import (
	"os"
	"slices"

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

// members finds the living members of the process tree. The error says that /proc does not
// tell.
func (t *processTree) members(where scope) ([]process, error) {
	if t.childless {
		return nil, nil // orphans become our children, so nobody descends from us
	}
	if all, err := readDescendants(t.root.self); err == nil {
		if members := t.pick(all, where); len(members) > 0 {
			return members, nil
		}
	}
	all, err := readProcesses() // that nobody is left has to be certain
	return t.pick(all, where), err
}

func (t *processTree) pick(all []process, where scope) []process {
	return slices.DeleteFunc(t.root.descendants(all), func(p process) bool {
		return where == inGroup && p.group != t.leader
	})
}

// signal sends signals to each member, each once. The group comes first, and as long as
// its leader is not reaped: after that, the number of a group that has become empty may
// come to stand for another.
func (t *processTree) signal(where scope, numbers ...unix.Signal) {
	asGroup := !t.reaped
	if asGroup {
		t.signalGroup(numbers)
		if where == inGroup {
			return
		}
	}
	members, err := t.members(where)
	if err != nil && !asGroup {
		t.signalGroup(numbers)
	}
	for _, p := range members {
		if !asGroup || p.group != t.leader {
			p.signal(t.root.self, numbers)
		}
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
	return err != nil || slices.ContainsFunc(t.pick(all, anywhere), func(p process) bool { return !p.stopped })
}
