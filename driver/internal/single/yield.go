package single

import "time"

// yielder gives up the processor after a write, so that callers add their commands to the next one.
// A write is a system call, and costs more than all else in a call. rueidis writes as soon as its
// writer finds no further command. So the replies to one write would lead to many: the first caller
// that goes on wakes the writer, which then runs before the other callers do.
type yielder struct {
	calls func() int   // that are under way
	ended func() int64 // calls, ever
	pass  func()       // runtime.Gosched
	rest  time.Time    // no yield before this
}

const (
	// longYield is how long a yield may take, and perCall how much longer for each call that begins or
	// ends in it. If it takes more, other goroutines want the processor for their own work, and commands
	// would wait for that: Go lets a goroutine run for 10 ms before another one runs.
	longYield = 5 * time.Millisecond
	perCall   = 100 * time.Microsecond
	// yieldRest is the pause after a long one.
	yieldRest = 100 * time.Millisecond
)

// yield lets other goroutines run. A lone call has nobody to wait for.
func (y *yielder) yield() {
	if y.calls() < 2 {
		return
	}
	began, calls, ended := time.Now(), y.calls(), y.ended()
	if began.Before(y.rest) {
		return
	}
	y.pass()
	served := y.ended() - ended
	if more := y.calls() - calls; more > 0 {
		served += int64(more)
	}
	if now := time.Now(); now.Sub(began) > longYield+perCall*time.Duration(served) {
		y.rest = now.Add(yieldRest)
	}
}
