//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// die ends this process. It returns if the signal is ignored, as under nohup, and if this is
// the first process of a container, which no signal of its own ends.
func (e *signalError) die() {
	if os.Getpid() == 1 || signal.Ignored(e.number) {
		return
	}
	whom := os.Getpid()
	if e.group {
		whom = 0 // this process's group: the shell in whose script it runs, and a reader of its output
	}
	signal.Reset(e.number)
	if syscall.Kill(whom, e.number) == nil {
		time.Sleep(time.Second) // the signal comes at once
	}
}
