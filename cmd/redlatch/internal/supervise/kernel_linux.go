package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tellOfParentsDeath has the kernel send the command a SIGTERM when this process ends
// without having been able to. It is not a SIGKILL: only the command itself could stop
// what it has started.
func tellOfParentsDeath(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGTERM }

// stopSelf stops this process with a signal that does so, and returns when it is
// continued, or at once if the kernel ignores the signal. It is meant for this thread:
// one for the process could take effect on another, and this one would run on for a while.
func (s *supervisor) stopSelf(number unix.Signal) { unix.Tgkill(os.Getpid(), unix.Gettid(), number) }
