//go:build unix

package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// Signals are those that are passed on to a command.
var Signals = []os.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
}
