//go:build darwin || dragonfly || freebsd || openbsd

package supervise

import "golang.org/x/sys/unix"

// bootTime is the time in nanoseconds on the clock that nobody sets.
func bootTime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return now.Nano()
}
