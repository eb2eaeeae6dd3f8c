//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tellOfParentsDeath does nothing: only Linux has such a setting.
func tellOfParentsDeath(*syscall.SysProcAttr) {}

// stopSelf stops this process with a signal that does so, and returns when it is
// continued, or after a moment if the kernel ignores the signal.
func (s *supervisor) stopSelf(number unix.Signal) {
	select {
	case <-s.continued: // from before
	default:
	}
	unix.Kill(os.Getpid(), number)
	select {
	case <-s.continued:
	case <-time.After(time.Second):
	}
}
