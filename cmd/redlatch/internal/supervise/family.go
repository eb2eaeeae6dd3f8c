//go:build unix

package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// family is the command with all that it started.
type family struct {
	leader int // the command: its process, and the group that bears its number
	// reaped says that the leader's number may be that of another process by now.
	reaped bool
	// childless says that this process has no children.
	childless bool
	kin       kin
}

// scope is whom of a family is meant.
type scope bool

const (
	inGroup  scope = false // the process group
	anywhere scope = true  // every descendant that can be found
)

// newFamily is called before the command is started.
func newFamily() *family { return &family{kin: newKin(os.Getpid())} }

// signalGroup sends signals to the group as one, so that no process can slip out of it by
// forking.
func (f *family) signalGroup(numbers []unix.Signal) {
	for _, number := range numbers {
		unix.Kill(-f.leader, number)
	}
}

// groupLeft is the group, as far as it is not known who is in it.
func (f *family) groupLeft() []int {
	if err := unix.Kill(-f.leader, 0); err == unix.ESRCH {
		return nil
	}
	return []int{f.leader}
}
