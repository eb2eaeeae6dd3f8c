package multilock

import (
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// entry is what a group knows of one member.
type entry struct {
	hold       *lock.Hold // nil if it never was held
	state      state
	quarantine time.Duration // its server does not count for that long, unless the group is formed
	why        error         // it is missing
	since      time.Time     // when that was learned
	late       bool          // it went missing after the group had ended
}

// refusal is the error of a member that somebody else holds, nil if it is none.
func (e entry) refusal() *lockerr.NotAcquiredError {
	if seen, ok := errors.AsType[*lockerr.NotAcquiredError](e.why); ok && seen.Holder != "" {
		return seen
	}
	return nil
}

// wasGranted says that the member was granted, though its vote may have ended before it counted.
func (e entry) wasGranted() bool { return e.hold != nil || e.why == lockerr.ErrReleased }

// nextLook is when to ask again for a member that was refused, if no message comes.
func (e entry) nextLook(m Member) time.Time {
	return e.since.Add(lock.Nap(e.refusal().TTL, m.Locks.PollCap))
}

type state int

const (
	asked   state = iota // the answer is still to come
	granted              // held, but the lease of the whole is to be confirmed
	held                 // it counts
	missing              // not held
)
