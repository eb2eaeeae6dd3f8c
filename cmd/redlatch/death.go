package main

import (
	"fmt"
	"syscall"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
)

// signalError ends this process by a signal. A shell that runs it in a loop then ends the loop,
// as Ctrl-C is meant to. Where the signal does not work, the exit code is the one that a shell
// shows for it.
type signalError struct {
	number syscall.Signal
	// group says that the signal was for a whole job at a terminal, of which only the command
	// has got it.
	group bool
}

func (e *signalError) Error() string { return fmt.Sprint("ended by signal: ", e.number) }

func (e *signalError) Unwrap() error { return &exitError{code: exitSignal + int(e.number)} }

// bySignal is the end of this process after a signal has ended the wait, or the command. Other
// signals than these three leave a core dump, or do not say that a user wanted the end.
func bySignal(number syscall.Signal, group bool) error {
	switch number {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP:
		return &signalError{number, group && number == syscall.SIGINT}
	}
	return &exitError{code: exitSignal + int(number)}
}

// asCommandEnded is the end of this process after a command that was not stopped.
func asCommandEnded(end supervise.End) error {
	if end.Signal != 0 {
		return bySignal(end.Signal, end.Foreground)
	}
	return &exitError{code: end.Code}
}
