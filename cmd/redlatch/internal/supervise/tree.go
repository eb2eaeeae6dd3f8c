//go:build unix

package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// processTree is the command with all that it started.
type processTree struct {
	leader int // the command: its process, and the group that bears its number
	// reaped says that the leader's number may be that of another process by now.
	reaped bool
	// childless says that this process has no children.
	childless bool
	root      root
}

// scope is which processes of the tree are meant.
type scope bool

const (
	inGroup  scope = false // the process group
	anywhere scope = true  // every descendant that can be found
)

// newTree is called before the command is started.
func newTree() *processTree { return &processTree{root: newRoot(os.Getpid())} }

// signalGroup sends signals to the group as one, so that no process can slip out of it by
// forking.
func (t *processTree) signalGroup(numbers []unix.Signal) {
	for _, number := range numbers {
		unix.Kill(-t.leader, number)
	}
}

// groupLeft is the leader if the group has any process left. It stands for the group.
func (t *processTree) groupLeft() []int {
	if err := unix.Kill(-t.leader, 0); err == unix.ESRCH {
		return nil
	}
	return []int{t.leader}
}
