package renew

import "time"

// Term is one stretch of a lease that Redis has confirmed. It is a value: what it
// says about time depends on nothing else.
type Term struct {
	// Asked is the moment before the confirming request left.
	Asked time.Time
	// Lease is the time to live that the request set, unless Until was nearer.
	Lease time.Duration
	// Every is the time from Asked to the renewal; 0 for a lease that is not
	// renewed.
	Every time.Duration
	// Until is a moment beyond which the lease is never extended; zero for none. A
	// request close to it sets a shorter lease.
	Until time.Time
}

// Span is the time to live that a request of that moment sets. It is not positive beyond
// Until.
func (t Term) Span(asked time.Time) time.Duration {
	if t.Until.IsZero() {
		return t.Lease
	}
	return min(t.Lease, t.Until.Sub(asked))
}

// last says that a renewal would add nothing to the term.
func (t Term) last() bool { return !t.Until.IsZero() && !t.Asked.Add(t.Lease).Before(t.Until) }

// margin is how much earlier than Redis the holder lets go. It covers the drift
// between two clocks over one lease (1 % is far more than any clock that works)
// and the rounding of TTLs to milliseconds at both ends.
func margin(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// Deadline is the moment from which on the lease is not to be trusted any more.
func (t Term) Deadline() time.Time {
	span := t.Span(t.Asked)
	return t.Asked.Add(span - margin(span))
}

// Over says whether the deadline has passed, on either clock.
func (t Term) Over(now time.Time) bool {
	deadline := t.Deadline()
	return !now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))
}

// renewed says whether the term is to be followed by another.
func (t Term) renewed() bool { return t.Every > 0 && !t.last() }

// next is the moment at which something has to be done about the term: renew it,
// or end it.
func (t Term) next() time.Time {
	if !t.renewed() {
		return t.Deadline()
	}
	due := t.Asked.Add(t.Every)
	if deadline := t.Deadline(); due.After(deadline) {
		return deadline
	}
	return due
}

// retry is the moment of the next attempt after a failed one, for a lease that may be
// trusted, or asked for, until end. The pause is a fraction of the time left, so that
// attempts crowd towards the end.
func retry(now, end time.Time) time.Time {
	left := end.Sub(now)
	pause := min(max(left/16, minRetry), maxRetry)
	return now.Add(min(pause, max(left, 0)))
}

// patience is for how long an attempt that starts now may take. An attempt that
// hangs must leave time for others.
func patience(now, end time.Time) time.Duration { return max(end.Sub(now)/3, minRetry) }

const (
	minRetry = 5 * time.Millisecond
	maxRetry = time.Second
)
