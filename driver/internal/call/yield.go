package call

import (
	"runtime"
	"time"
)

// Yielder gives up the processor between two writes, so that callers add their commands to the next one.
// A write is a system call, and costs more than all else in a call. A writer that writes as soon as there is a
// command makes many writes after the replies to one: the first caller that goes on wakes the writer, which then
// runs before the other callers do.
type Yielder struct {
	calls func() int   // that are under way
	ended func() int64 // calls, ever
	pass  func()       // runtime.Gosched
	rest  time.Time    // no yield before this
}

// NewYielder makes one for a writer: how many calls are under way, and how many have ended, ever.
func NewYielder(calls func() int, ended func() int64) *Yielder {
	return &Yielder{calls: calls, ended: ended, pass: runtime.Gosched}
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

// Yield lets other goroutines run. A lone call has nobody to wait for.
func (y *Yielder) Yield() {
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
