//go:build unix && !linux

package supervise

import (
	"time"

	"golang.org/x/sys/unix"
)

// root knows nothing here: who leaves the group is not found again.
type root struct{}

func newRoot() root { return root{} }

func (root) adoptsAll() bool { return false }

// signal sends signals to the group, which is all that is known of a process tree.
func (t *processTree) signal(_ scope, _ time.Time, numbers ...unix.Signal) { t.signalGroup(numbers) }

// process is one of a tree, and nobody finds them here.
type process struct{}

// scan finds nobody.
func (*processTree) scan(time.Time, func(process)) error { return nil }

// left is the group, if there is anybody in it.
func (t *processTree) left(scope) []int { return t.groupLeft() }

// running says that nobody is known to run: one signal reaches the whole group.
func (t *processTree) running() bool { return false }
