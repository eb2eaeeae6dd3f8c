package main

import (
	"github.com/spf13/cobra"
)

// The exit codes are part of the command line's contract.
const (
	exitUsage   = 2  // the command line is wrong
	exitFailure = 70 // redlatch itself failed, for example because Redis is down
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

// newRoot returns the command with all its verbs.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "redlatch",
		Short:         "Locks that processes share through Redis",
		Long:          "redlatch shares locks among processes on many machines through Redis, in the\nlayout of Java's Redisson, so that Go, Java and shell contend for the same lock.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newDemo())
	return root
}
