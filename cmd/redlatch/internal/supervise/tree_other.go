//go:build unix && !linux

package supervise

import "golang.org/x/sys/unix"

// root knows nothing here: who leaves the group is not found again.
type root struct{}

func newRoot(int) root { return root{} }

// signal sends signals to the group, which is all that is known of a process tree.
func (t *processTree) signal(_ scope, numbers ...unix.Signal) { t.signalGroup(numbers) }

// left is the group, if there is anybody in it.
func (t *processTree) left(scope) []int { return t.groupLeft() }
