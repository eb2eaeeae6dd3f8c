//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent does nothing: only Linux has such a setting.
func dieWithParent(*syscall.SysProcAttr) {}

// self is this program.
func self() (string, error) { return os.Executable() }

// nameProcess does nothing: the name is that of the program's file.
func nameProcess(string) {}

// stopSelf stops this process with a signal that does so, and returns when it is
// continued, or after a moment if the kernel ignores the signal.
func (h *holder) stopSelf(number unix.Signal) {
	select {
	case <-h.continued: // from before
	default:
	}
	unix.Kill(os.Getpid(), number)
	select {
	case <-h.continued:
	case <-time.After(time.Second):
	}
}

// niceness is how far this process stands back for others.
func niceness() int {
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return nice
}

// hurry gets this process the processor before others, where that is permitted, as to root. What it has to do has
// to be done in time.
func hurry() { unix.Setpriority(unix.PRIO_PROCESS, 0, hurried) }

// tasks is unknown.
func tasks() int { return 0 }
