package renew

import (
	"slices"
	"time"
)

// Term is what is known of a lease, and the plan for it. It is a value: its methods depend on
// nothing else.
type Term struct {
	// Asked is the moment before the confirming request left.
	Asked time.Time
	// Lease is the shortest time to live after a renewal, unless Until is nearer.
	Lease time.Duration
	// Every is the time from Asked to the renewal; 0 for a lease that is not renewed.
	Every time.Duration
	// Stop is the moment up to which renewals ask, if that is before Until, or there is none. What was asked for beyond
	// that is trusted. Zero: Until.
	Stop time.Time
	// Until is a moment beyond which the lease is neither extended nor trusted; zero for
	// none. A request close to it asks for a shorter lease.
	Until time.Time
	// Trusted is the latest moment up to which a request was confirmed (Trust). Zero:
	// the request of Asked asked for the whole Lease.
	Trusted time.Time
	// Kept is the latest moment up to which a confirmed request asked Redis to keep the lease. Zero: as
	// Trusted.
	Kept time.Time
}

// Trust is the moment up to which a lease may be trusted after a confirmed request for span that
// left at asked. In Redis a lease only grows while it is held, so the latest of several such
// moments is true.
func Trust(asked time.Time, span time.Duration) time.Time { return asked.Add(span - margin(span)) }

// Span is the time to live that a request at that moment asks for. It is not positive after
// Stop.
func (t Term) Span(asked time.Time) time.Duration {
	if t.stop().IsZero() {
		return t.Lease
	}
	return min(t.Lease, t.stop().Sub(asked))
}

// stop is the moment up to which requests ask; zero for none.
func (t Term) stop() time.Time {
	if t.Stop.IsZero() {
		return t.Until
	}
	return t.Stop
}

// Final says that a renewal would add nothing to the term.
func (t Term) Final() bool {
	return !t.stop().IsZero() && !t.trusted().Before(t.stop().Add(-margin(t.Lease)))
}

// margin is how much earlier than Redis the holder ends its trust. It covers the drift between
// two clocks over one lease (1 % is far more than that of any working clock) and the rounding
// of TTLs to milliseconds at both ends.
func margin(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// Deadline is the moment from which on the lease is not trusted any more.
func (t Term) Deadline() time.Time {
	if t.Until.IsZero() {
		return t.trusted()
	}
	return earlier(t.trusted(), t.Until)
}

func (t Term) trusted() time.Time {
	if t.Trusted.IsZero() {
		return Trust(t.Asked, t.Span(t.Asked))
	}
	return t.Trusted
}

func (t Term) kept() time.Time {
	if t.Kept.IsZero() {
		return t.Asked.Add(t.Span(t.Asked))
	}
	return t.Kept
}

// Outlasts says that Redis may keep a lease that is over now for longer than until it ends by itself. Asked is the latest
// moment up to which a request asked for that of which nobody knows whether it was carried out. A lease ends by itself when
// what was confirmed ends, but hardly behind Until. If it was renewed, the last renewal may have had no answer.
func (t Term) Outlasts(asked, now time.Time) bool {
	end := t.kept()
	if !t.Until.IsZero() {
		end = earlier(end, t.Until.Add(margin(min(t.Lease, t.Until.Sub(t.Asked)))))
	}
	if t.renewed() {
		end = later(end, now.Add(t.Lease))
	}
	return later(asked, t.kept()).After(end)
}

// Over says whether the deadline has passed, on either clock.
func (t Term) Over(now time.Time) bool { return passed(t.Deadline(), now) }

// MayGoOn says whether a renewal can still move the deadline, also one that has passed.
func (t Term) MayGoOn(now time.Time) bool {
	return t.renewed() && (t.stop().IsZero() || !passed(t.stop(), now))
}

func passed(moment, now time.Time) bool {
	return !now.Before(moment) || !now.Round(0).Before(moment.Round(0))
}

// renewed says whether the term is to be followed by another.
func (t Term) renewed() bool { return t.Every > 0 && !t.Final() }

// next is the moment at which something has to be done about the term: renew it,
// or end it.
func (t Term) next() time.Time {
	if !t.renewed() {
		return t.Deadline()
	}
	// The last request may have asked for a shorter lease than a renewal does. Then the renewal
	// is due before Every has passed, by as much as the trust is shorter.
	return earlier(t.Asked.Add(t.Every), t.trusted().Add(margin(t.Lease)-t.Lease+t.Every), t.Deadline())
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

func later(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// retry is the moment of the next attempt after a failed one, for a lease that may be trusted,
// or asked for, until end. The pause is a fraction of the time left, so that attempts become
// more frequent towards the end.
func retry(now, end time.Time) time.Time {
	left := end.Sub(now)
	pause := min(max(left/16, minRetry), maxRetry)
	return now.Add(min(pause, max(left, 0)))
}

// patience is how long an attempt that starts now may take. An attempt that hangs must leave
// time for others. An attempt to a server that is far away may need a third of the lease, which
// is the time between two renewals.
func patience(now, end time.Time) time.Duration { return max(end.Sub(now)/2, minRetry) }

const (
	minRetry = 5 * time.Millisecond
	maxRetry = time.Second
)
