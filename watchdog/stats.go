package watchdog

import (
	"sync"
	"time"
)

// Stats is a snapshot of what a watchdog does. Totals count from its start.
type Stats struct {
	Watchdogs int // that were alive at the last look, this one included
	Stalled   int // clients whose heartbeat was overdue then
	Serving   int // of these, those that this watchdog serves

	Looks    int64 // that were answered, in total
	Failures int64 // requests that were not answered, or refused, in total
	Renewals int64 // leases extended, in total
	Gone     int64 // holds that were not there any more, in total
	Dead     int64 // sessions removed because the pulse was gone, in total
	LetGo    int64 // sessions removed because the pause was too long, in total
	Skipped  int64 // entries and names that are out of bounds or forbidden, at each visit

	Started  time.Time // when the watchdog was made
	LastLook time.Time // when the last look was answered; zero before the first
}

// tally is what is counted.
type tally struct {
	mu sync.Mutex
	Stats
}

// note changes what is counted.
func (t *tally) note(change func(s *Stats)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.Stats)
}

// Stats returns a snapshot. It touches nothing else.
func (w *Watchdog) Stats() Stats {
	w.tally.mu.Lock()
	defer w.tally.mu.Unlock()
	return w.tally.Stats
}
