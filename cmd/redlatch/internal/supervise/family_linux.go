package supervise

import (
	"slices"

	"golang.org/x/sys/unix"
)

// kin is who descends from this process.
type kin struct {
	self int
	// strangers are children that this process had before it started the command: a
	// shell may have left them to it by exec. They are none of its business.
	strangers map[identity]bool
}

// newKin makes this process the reaper of its descendants: when one of them ends, its
// children become ours, and not those of process 1, where nobody could find them.
func newKin(self int) kin {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	k := kin{self: self, strangers: map[identity]bool{}}
	all, _ := readProcesses()
	for _, p := range all {
		if p.parent == self {
			k.strangers[p.identity] = true
		}
	}
	return k
}

// descendants are those of all that are alive.
func (k kin) descendants(all []process) []process {
	children := make(map[int][]process)
	for _, p := range all {
		if !k.strangers[p.identity] {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []process
	for open := []int{k.self}; len(open) > 0; {
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

// members finds the living members of the family. The error says that /proc does not
// tell.
func (f *family) members(where scope) ([]process, error) {
	if f.childless {
		return nil, nil // orphans become our children, so nobody descends from us
	}
	if all, err := readDescendants(f.kin.self); err == nil {
		if members := f.pick(all, where); len(members) > 0 {
			return members, nil
		}
	}
	all, err := readProcesses() // that nobody is left has to be certain
	return f.pick(all, where), err
}

func (f *family) pick(all []process, where scope) []process {
	return slices.DeleteFunc(f.kin.descendants(all), func(p process) bool {
		return where == inGroup && p.group != f.leader
	})
}

// signal sends signals to each member, each once. The group comes first, and as long as
// its leader is not reaped: after that, the number of a group that has become empty may
// come to stand for another.
func (f *family) signal(where scope, numbers ...unix.Signal) {
	asGroup := !f.reaped
	if asGroup {
		f.signalGroup(numbers)
		if where == inGroup {
			return
		}
	}
	members, err := f.members(where)
	if err != nil && !asGroup {
		f.signalGroup(numbers)
	}
	for _, p := range members {
		if !asGroup || p.group != f.leader {
			p.signal(numbers)
		}
	}
}

// left are the members that are alive.
func (f *family) left(where scope) []int {
	members, err := f.members(where)
	if err != nil {
		return f.groupLeft()
	}
	var pids []int
	for _, p := range members {
		pids = append(pids, p.pid)
	}
	return pids
}
