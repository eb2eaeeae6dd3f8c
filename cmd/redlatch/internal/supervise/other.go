//go:build !unix

package supervise

import (
	"errors"
	"os"
)

// Signals are those that are passed on to a command.
var Signals = []os.Signal{os.Interrupt}

var errOther = errors.New("a command can be stopped with all that it started on Unix only")

// Run needs process groups and signals.
func Run(Command, Hold, Limits, <-chan os.Signal) (End, error) { return End{}, errOther }

// Replace needs exec.
func Replace(Command) error { return errOther }
