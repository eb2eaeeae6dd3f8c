package main

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used. Unlike the time on the
// wall it hardly depends on what else the machine does.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // it has no errors for this question
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
