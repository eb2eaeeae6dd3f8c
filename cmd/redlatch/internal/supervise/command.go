package supervise

import "time"

// Command is what to run. Its first three files are those of this process.
type Command struct {
	Path string   // where it is
	Args []string // its arguments, beginning with its own name
	Env  []string // all of its environment
}

// Hold is what a command's hold tells of itself.
type Hold interface {
	// Deadline is the moment up to which the hold may be trusted. It may move on.
	Deadline() time.Time
	// Done is closed when the hold is lost.
	Done() <-chan struct{}
}

// Limits say how long things take.
type Limits struct {
	Lease     time.Duration // of the hold
	KillAfter time.Duration // from SIGTERM to SIGKILL, see CheckKillAfter
	Grace     time.Duration // for processes that are just ending. Default: 250ms
}

// End is how a command ended.
type End struct {
	// Code is the exit code as a shell would give it: the command's own, or 128 and
	// the number of the signal that ended it.
	Code int
	// Why the command was stopped, if it did not end by itself.
	Why Reason
	// LeftBehind is how many processes the command had left behind in its group that
	// had to be stopped.
	LeftBehind int
	// Left are processes that could not be killed. They may go on working.
	Left []int
}

// Reason is why a command had to be stopped.
type Reason string

// The reasons.
const (
	Lost      Reason = "lost"        // the hold was gone
	OutOfTime Reason = "out of time" // the hold was about to end and not renewed
)
