package renew

import (
	"slices"
	"time"
)

// The rules of a term that the engine goes by.
func (t Term) Next() time.Time                                 { return t.next() }
func (t Term) Retry(now time.Time) time.Time                   { return retry(now, t.Deadline()) }
func (t Term) Patience(now time.Time) time.Duration            { return patience(now, t.Deadline()) }
func (e *Engine) AfterJump(now time.Time) (lost, due []*Item)  { return e.after(now, true) }
func (e *Engine) AfterPause(now time.Time) (lost, due []*Item) { return e.after(now, false) }

// StartUnguarded is Start without a guard.
func StartUnguarded(renew Renew) *Engine { return Start(renew, Guard{}) }

// WhileTaking calls f as if the engine were taking an answer.
func (e *Engine) WhileTaking(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// after is what the loop finds when it wakes at a moment.
func (e *Engine) after(now time.Time, jumped bool) (lost, due []*Item) {
	lost, groups := e.collect(now, jumped)
	return lost, slices.Concat(groups...)
}
