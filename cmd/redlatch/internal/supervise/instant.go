//go:build unix

package supervise

import "time"

// instant is a moment that two processes of one machine understand, also after one of them
// was paused or the machine was suspended.
type instant struct {
	Boot int64 // nanoseconds on a clock that goes on during a suspension, where there is one
	Wall int64 // nanoseconds since 1970
}

// instantOf is the instant of a moment. The clocks are read in this order: a pause between the
// two makes the instant too early, never too late.
func instantOf(moment time.Time) instant {
	boot := bootTime()
	now := time.Now()
	left := min(moment.Sub(now), moment.Round(0).Sub(now.Round(0)))
	return instant{boot + int64(left), moment.UnixNano()}
}

// time is the moment of an instant, as both clocks see it now.
func (i instant) time() time.Time {
	now := time.Now()
	return now.Add(time.Duration(min(i.Boot-bootTime(), i.Wall-now.UnixNano())))
}

// atLimit says that a hold whose command was stopped since a moment, on the clock of bootTime, had come to its limit: one
// that was confirmed up to the limit would have been stopped by then. Deadlines lie a little before the limit.
func atLimit(hold Hold, times schedule, since int64) bool {
	limited, is := hold.(Limited)
	if !is || limited.Limit().IsZero() {
		return false
	}
	stop := times.term(limited.Limit()).Add(-times.lease/50 - 5*time.Millisecond)
	return passed(stop, time.Now().Add(time.Duration(since-bootTime())))
}
