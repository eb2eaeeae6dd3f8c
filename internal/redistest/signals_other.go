//go:build !unix

package redistest

import (
	"errors"
	"syscall"
)

// The signals that freeze a process and have it go on. There are none here, and what freezes
// a process fails.
const (
	SIGSTOP syscall.Signal = 0x13
	SIGCONT syscall.Signal = 0x12
)

// AwaitStopped fails: no process can be stopped here.
func AwaitStopped(int) error { return errors.ErrUnsupported }
