package renew

import "time"

// The rules of a term that the engine goes by.
func (t Term) Next() time.Time                      { return t.next() }
func (t Term) Retry(now time.Time) time.Time        { return retry(now, t.Deadline()) }
func (t Term) Patience(now time.Time) time.Duration { return patience(now, t.Deadline()) }
func (e *Engine) AfterJump(now time.Time) (lost, due []*Item) {
	e.look(now, true)
	lost, flying := e.sweep(now, true)
	for _, p := range flying {
		due = append(due, p.it)
	}
	return lost, due
}
