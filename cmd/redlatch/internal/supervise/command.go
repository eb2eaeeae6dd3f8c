package supervise

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// Command is what to run. Its first three files are those of this process.
type Command struct {
	Path string   // where it is
	Args []string // its arguments, beginning with its own name
	Env  []string // all of its environment

	niceness int // that it gets from the switch, which has another one
}

// Hold is what a command's hold tells of itself.
type Hold interface {
	// Deadline is the moment up to which the hold may be trusted. It may move on.
	Deadline() time.Time
	// Done is closed when the hold is lost.
	Done() <-chan struct{}
}

// Extender is a Hold whose lease can become longer. If a process tree outgrows its lease, Run asks for one that
// leaves time to stop the tree, of 30s at most.
type Extender interface {
	Extend(ctx context.Context, lease time.Duration) error
}

// Limited is a Hold that is not renewed beyond a moment.
type Limited interface {
	// Limit is that moment, zero if there is none.
	Limit() time.Time
}

// Limits say how long things take.
type Limits struct {
	Lease     time.Duration // of the hold
	KillAfter time.Duration // from SIGTERM to SIGKILL, see CheckKillAfter
	Grace     time.Duration // for processes that are just ending. Default: 250ms
	// Protect says that a watchdog may renew the hold while this process is paused. The
	// command is then stopped with SIGSTOP until the hold is confirmed or lost.
	Protect bool
}

// End is how a command ended.
type End struct {
	// Code is the exit code as a shell would give it: the command's own, or 128 and
	// the number of the signal that ended it.
	Code int
	// Signal ended the command. It is 0 if the command exited.
	Signal syscall.Signal
	// Foreground says that the command had the terminal when it ended. Ctrl-C was then for
	// its process group alone.
	Foreground bool
	// Why the command was stopped, if it did not end by itself.
	Why Reason
	// Paused is for how long this process had been standing still since the deadline last
	// moved on before the command was stopped. It is 0 if that was too short to be the reason.
	Paused time.Duration
	// AtLimit says that a Limited hold had come to its limit when the command was stopped.
	AtLimit bool
	// LeftBehind is how many processes the command had left behind in its group that
	// had to be stopped.
	LeftBehind int
	// Left are processes that could not be killed. They may go on working.
	Left []int
}

// ErrSwitch says that not even the switch could be started.
var ErrSwitch = errors.New("the process that stops the command in time cannot be started")

// Reason is why a command had to be stopped.
type Reason string

// The reasons.
const (
	Lost       Reason = "lost"        // the hold was gone
	OutOfTime  Reason = "out of time" // the hold was about to end and not renewed
	SwitchDied Reason = "switch died" // somebody killed the process between this one and the command
	alone      Reason = "holder died" // told by the switch to nobody
)
