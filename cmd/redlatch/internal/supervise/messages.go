//go:build unix

package supervise

import (
	"syscall"
	"time"
)

// The holder and the switch talk through two pipes, in JSON.

// assignment is the first message to the switch.
type assignment struct {
	Path     []byte   // bytes, because JSON replaces what is not UTF-8
	Args     [][]byte // the environment is that of the switch
	Limits   Limits
	Deadline instant
	Group    int // the process group of the holder, which has the terminal
}

// order is each further message to the switch.
type order struct {
	Deadline instant        // a new one, unless Stop or Signal is set
	Lease    time.Duration  `json:",omitempty"` // with the deadline
	Stop     Reason         `json:",omitempty"`
	Signal   syscall.Signal `json:",omitempty"` // for the command; SIGTSTP and SIGCONT are for the whole tree
}

// report is a message from the switch. One field is set.
type report struct {
	Leader int           `json:",omitempty"` // the command was started; its process
	Errno  syscall.Errno `json:",omitempty"` // it could not be started
	// Walk is for how long the switch has walked through the tree, for the margin of both.
	Walk   time.Duration `json:",omitempty"`
	Paused bool          `json:",omitempty"` // Ctrl-Z: the tree stands still
	// Stopping is since when the tree is being stopped, on the clock of bootTime: the switch is awake
	// near the deadline.
	Stopping int64 `json:",omitempty"`
	End      *End  `json:",omitempty"` // the command has ended
}
