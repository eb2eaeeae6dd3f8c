package supervise

import "golang.org/x/sys/unix"

// bootTime is the time in nanoseconds on a clock that goes on while the machine is suspended.
func bootTime() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return now.Nano()
}
