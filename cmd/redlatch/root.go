package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes are part of the command line's contract.
const (
	exitHeld      = 1   // the lock is held by another; of run only the default
	exitUsage     = 2   // the command line is wrong
	exitFailure   = 70  // redlatch itself failed, for example because Redis is down
	exitLost      = 75  // the hold was lost while the command ran
	exitCannotRun = 126 // the command cannot be run
	exitNotFound  = 127 // there is no such command
	exitSignal    = 128 // and the number of the signal
)

// exitError ends the process with a code. Without an error it does so silently.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exit ends the process with a code and one line that says why.
func exit(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// newRoot returns the command with all its verbs.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "redlatch",
		Short:         "Locks that processes share through Redis",
		Long:          "redlatch shares locks among processes on many machines through Redis, in the\nlayout of Java's Redisson, so that Go, Java and shell contend for the same lock.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newRun(), newStatus(), newWait(), newUnlock(), newVersion(), newWatchdog(), newDemo(), newDemoActor())
	return root
}
