//go:build unix && !linux

package supervise

import "golang.org/x/sys/unix"

// kin is unknown here: who leaves the group is lost sight of.
type kin struct{}

func newKin(int) kin { return kin{} }

// signal sends signals to the group, which is all that is known of a family.
func (f *family) signal(_ scope, numbers ...unix.Signal) { f.signalGroup(numbers) }

// left is the group, if there is anybody in it.
func (f *family) left(scope) []int { return f.groupLeft() }
