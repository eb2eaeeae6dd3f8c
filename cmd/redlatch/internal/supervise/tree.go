//go:build unix

package supervise

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/internal/pause"
)

// processTree is the command with all that it started.
type processTree struct {
	leader int // the command: its process, and the group that bears its number
	// reaped says that the leader's number may be that of another process by now.
	reaped bool
	// childless says that this process has no children.
	childless bool
	root      root
	known     []process     // those of which there is a handle, parents first
	walk      time.Duration // for how long the last scan took
	still     bool          // it was stopped, and not continued
}

// scope is which processes of the tree are meant.
type scope bool

const (
	inGroup  scope = false // the process group
	anywhere scope = true  // every descendant that can be found
)

// newTree is called before the command is started, or the switch.
func newTree() *processTree { return &processTree{root: newRoot()} }

// kill kills until nobody is left, as a process may be starting another just now. It returns who
// cannot be killed. If nobody can say who they are, the leader stands for them.
func (t *processTree) kill(where scope, reap func()) (left []int) {
	limit := time.Now().Add(patience)
	if t.still { // so there is time to find the children before their parents die
		t.scan(limit, func(process) {})
	}
	for backoff := (pause.Backoff{First: pollTick, Max: shortTick}); !passed(limit, time.Now()); {
		t.signal(where, limit, unix.SIGKILL) // first: looking takes time that is short
		reap()
		if t.gone(where) {
			return nil
		}
		time.Sleep(backoff.Next())
	}
	if left = t.left(where); len(left) == 0 {
		left = []int{t.leader}
	}
	return left
}

// gone says that nobody is left. The kernel knows that of all whose orphans become children of
// this process. A list of processes is no proof: one that starts another and ends, again and again,
// is never where somebody looks.
func (t *processTree) gone(where scope) bool {
	if where == anywhere && t.root.adoptsAll() {
		return t.childless
	}
	return len(t.left(where)) == 0
}

// stop stops everybody for a while, as a process may be starting another just now. A scan is not cut off: on a
// busy machine each would end before the last ones.
func (t *processTree) stop(within time.Duration) {
	t.still = true
	for limit := time.Now().Add(within); ; time.Sleep(pollTick) {
		t.signal(anywhere, limit.Add(patience), unix.SIGSTOP)
		if !t.running() || passed(limit, time.Now()) {
			return
		}
	}
}

const (
	// patience bounds the wait for a process that does not die of SIGKILL.
	patience = 3 * time.Second
	// pollTick is the time between the first two rounds of a kill.
	pollTick = 2 * time.Millisecond
)

// reap takes note of the end of every child, and of what else the options ask for.
func (t *processTree) reap(options int, heard func(pid int, status unix.WaitStatus)) {
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, unix.WNOHANG|options, nil); {
		case err == unix.EINTR:
		case err != nil || pid == 0:
			t.childless = err == unix.ECHILD
			return
		default:
			heard(pid, status)
		}
	}
}

// signalGroup sends signals to the group as one, so that no process can slip out of it by
// forking.
func (t *processTree) signalGroup(numbers []unix.Signal) {
	if t.leader == 0 {
		return // its number is not known yet
	}
	for _, number := range numbers {
		unix.Kill(-t.leader, number)
	}
}

// groupLeft is the leader if the group has any process left. It stands for the group.
func (t *processTree) groupLeft() []int {
	if t.leader == 0 || unix.Kill(-t.leader, 0) == unix.ESRCH {
		return nil
	}
	return []int{t.leader}
}
