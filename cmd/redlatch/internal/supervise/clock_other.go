//go:build unix && !linux && !darwin && !dragonfly && !freebsd && !openbsd

package supervise

import "time"

// bootTime is the wall clock: no other is known here that two processes share.
func bootTime() int64 { return time.Now().UnixNano() }
