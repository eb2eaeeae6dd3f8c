package watchdog

import (
	"sync"
	"time"
)

// Stats is a snapshot of a watchdog's work. Totals count from its start.
type Stats struct {
	Watchdogs int // alive at the last look, this one included
	Stalled   int // clients whose heartbeat was overdue at the last look
	Serving   int // stalled clients that this watchdog serves

	// Late is how long the first visit that did not begin yet is overdue, at the last look. It is
	// longer if reading all names of stalled clients takes longer. A client whose lease is
	// shorter than twice that may lose its locks.
	Late time.Duration

	Looks    int64 // answered looks, in total
	Failures int64 // requests that were not answered, or refused, in total
	Renewals int64 // leases extended, in total
	Gone     int64 // holds that did not exist any more, in total
	Dead     int64 // sessions removed because the pulse was gone, in total
	LetGo    int64 // sessions removed because the pause was too long, in total

	// LateVisits counts visits that ended more than a quarter of a lease after they were due,
	// although the client still held something. Twice as late, and its locks may be lost.
	LateVisits int64

	Skipped int64 // entries and names out of bounds or forbidden, counted at each visit

	Started  time.Time // when the watchdog was made
	LastLook time.Time // when the last look was answered; zero before the first
}

// counters are the Stats and their mutex.
type counters struct {
	mu sync.Mutex
	Stats
}

// note changes the counters.
func (t *counters) note(change func(s *Stats)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.Stats)
}

// Stats returns a snapshot. It sends nothing to Redis.
func (w *Watchdog) Stats() Stats {
	w.counters.mu.Lock()
	defer w.counters.mu.Unlock()
	return w.counters.Stats
}
