package waitqueue

import (
	"cmp"
	"time"
)

// offers decides when a queue offers the lock to other processes, and for how long the waiters
// of this process hold back. The package comment defines the terms. The hub's mutex guards it.
type offers struct {
	others  int           // subscribers of other processes that the last release reached
	streak  int           // releases since this process got the lock from others
	began   time.Time     // when the streak began
	trip    time.Duration // how long the last release took
	ordered bool          // the next release offers the lock in any case
	pause   time.Duration // for which processes that poll may sleep; 0: nobody polls

	// What earlier offers taught.
	share    int           // releases of each of the others between two streaks of this process
	quota    int           // a streak of this length is over; zero is maxStreak
	next     time.Time     // no long offer begins before this
	rest     time.Duration // the pause after the next long offer that nobody takes
	short    time.Time     // no short offer begins before this
	ignored  bool          // nobody took the last offer to those who poll
	polledAt time.Time     // when that ended, or when the first of this process polled

	// The last offer.
	open      bool      // until the lock is granted to this process again
	listening bool      // its channel was subscribed from the beginning
	brief     bool      // it is a short one
	polled    bool      // it is for processes that poll
	unclear   bool      // the release has not been answered yet
	until     time.Time // the waiters hold back until then
	releases  int       // of other processes that this one heard
	taken     bool      // another process held the lock
}

const (
	// maxStreak is how often this process releases the lock at most before it offers it to others.
	maxStreak = 16
	// minStreak is the same if others release the lock after one critical section.
	minStreak = 2
	// maxStreakTime bounds a streak of long critical sections. With a slow server the bound is
	// maxStreakTrips times the duration of a release.
	maxStreakTime  = 10 * time.Millisecond
	maxStreakTrips = 8

	// patience is how long the waiters of this process hold back while nothing is heard of others.
	patience = 20 * time.Millisecond
	// maxRest is the longest pause between long offers that nobody takes. In between there are short
	// ones, with pauses of shortRest times their length.
	maxRest   = time.Second
	shortRest = 50
	// maxPollRest is the same for processes that poll, in lengths of such an offer.
	maxPollRest = 8
	// answerTime is how long the waiters hold back at most for the reply to the release.
	answerTime = 100 * time.Millisecond
)

// wanted says that others listen or poll, or may: the answer to an offer is still to come.
func (o *offers) wanted() bool { return o.others > 0 || o.pause > 0 || o.ordered || o.unclear }

// count counts a release of this process.
func (o *offers) count(now time.Time) {
	if o.began.IsZero() {
		o.began = now
	}
	o.streak++
}

// due says that the lock is to be offered to other processes, and that some listen.
func (o *offers) due(now time.Time) bool {
	if o.ordered || o.duePolled(now) {
		return true
	}
	if o.others == 0 || now.Before(o.next) && now.Before(o.short) {
		return false
	}
	return o.streak >= cmp.Or(o.quota, maxStreak) || now.Sub(o.began) >= max(maxStreakTime, maxStreakTrips*o.trip)
}

// duePolled says that the lock is to be offered to processes that poll. Nobody knows whether there
// are any.
func (o *offers) duePolled(now time.Time) bool {
	rest := o.pause
	if o.ignored {
		rest *= maxPollRest
	}
	return o.pause > 0 && now.Sub(o.polledAt) >= rest
}

// polls notes that the contender of a release sleeps for up to pause; 0 if it waits for messages, or if
// there is none. An offer that was ordered is also one to those who poll.
func (o *offers) polls(now time.Time, pause time.Duration) {
	if o.pause = pause; pause > 0 && o.polledAt.IsZero() && !o.ordered {
		o.polledAt = now
	}
}

// longestPollRest is for how long it matters when the last offer to those who poll was.
func (o *offers) longestPollRest() time.Duration { return min(maxPollRest*o.pause, time.Minute) }

// begin begins an offer. The channel is subscribed if listening.
func (o *offers) begin(now time.Time, listening bool) {
	o.polled = o.duePolled(now)
	o.ordered, o.brief = false, now.Before(o.next) && !o.ordered
	o.open, o.listening, o.unclear = true, listening, true
	o.releases, o.taken = 0, false
	o.until = now.Add(answerTime)
}

// answered notes that a release was answered. If the release is an offer, the patience begins now.
func (o *offers) answered(now time.Time) {
	switch {
	case !o.open || !o.unclear:
		return
	case o.polled && o.releases == 0:
		o.until = now.Add(o.pause) // by then each of the others has asked
	case o.polled:
	case o.others == 0:
		o.open, o.until = false, time.Time{}
		o.restart(now)
	case o.releases == 0:
		o.until = now.Add(patience)
		if o.brief {
			o.until = now.Add(o.nimble())
		}
	}
	o.unclear = false
}

// nimble is what a process needs that is awake: the time for a message and a request, each about as long as a
// release.
func (o *offers) nimble() time.Duration { return min(max(2*o.trip, time.Millisecond), patience/2) }

// heldBack says that the waiters hold back.
func (o *offers) heldBack(now time.Time) bool { return now.Before(o.until) }

// heard notes a release of another process. The waiters hold back until the others had half of
// their last share. Earlier attempts would be in vain, and would slow the others down.
func (o *offers) heard(now time.Time) {
	if !o.open {
		return
	}
	if o.releases++; o.releases >= o.share/2 {
		o.until = time.Time{}
	} else {
		o.until = now.Add(o.nimble())
	}
}

// refused notes that another process held the lock when this one asked.
func (o *offers) refused() { o.taken = o.open }

// granted notes that this process holds the lock again after an offer, and learns from it.
func (o *offers) granted(now time.Time) {
	o.open, o.until = false, time.Time{}
	o.restart(now)
	switch taken := o.releases > 0 || o.taken; {
	case o.polled:
		o.polledAt, o.ignored = now, !taken
	case !o.listening: // nobody was heard
	case taken:
		o.share = min((o.releases+o.others-1)/max(o.others, 1), maxStreak) // who takes more leaves nobody a chance
		o.quota = min(max(2*o.share, minStreak), maxStreak)
		o.rest = 0
	case !o.brief:
		o.next = now.Add(o.rest)
		o.rest = min(max(4*o.rest, patience), maxRest)
	}
	o.short = now.Add(shortRest * o.nimble())
}

// restart begins a new streak.
func (o *offers) restart(now time.Time) { o.streak, o.began = 0, now }

// listened notes how many subscribers of other processes a release has reached. New ones may need
// the lock sooner, so they end the pause between offers.
func (o *offers) listened(others int) {
	if others > o.others {
		o.rest, o.next = 0, time.Time{}
	}
	o.others = others
}
