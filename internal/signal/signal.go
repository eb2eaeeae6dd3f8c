// Package signal wakes a goroutine that waits on a channel of capacity one, and says how often a
// goroutine wakes by itself.
package signal

import (
	"sync/atomic"
	"time"
)

// arrange decides when signals arrive; nil outside of a simulation.
var arrange atomic.Pointer[func(arrive func())]

// Arrange makes a function decide when each signal arrives, so that a simulation can wake one
// goroutine at a time. Nil ends that.
func Arrange(f func(arrive func())) {
	if f == nil {
		arrange.Store(nil)
		return
	}
	arrange.Store(&f)
}

// Send signals c, unless a signal is waiting there already.
func Send(c chan<- struct{}) {
	if f := arrange.Load(); f != nil {
		(*f)(func() { send(c) })
		return
	}
	send(c)
}

func send(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// slower is by what factor goroutines wake less often; zero outside of a simulation.
var slower atomic.Int64

// Slow makes goroutines wake less often by themselves, so that a simulation of long leases does not
// consist of glances at a clock. Zero ends that.
func Slow(factor int) { slower.Store(int64(factor)) }

// Interval is how often to wake where d would do.
func Interval(d time.Duration) time.Duration {
	return d * max(time.Duration(slower.Load()), 1)
}
