package sim

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// belief is a hold that an actor has, or had.
type belief struct {
	actor   *actor
	lock    LockSpec
	read    bool
	hold    *redlatch.Hold
	done    <-chan struct{}
	asked   time.Time
	renewed bool
	ended   bool      // released or detached
	free    time.Time // since when the lock could be had; while it is asked for
	over    bool      // it is asked for no more
	excused bool      // a fault took it from its holder, who cannot know
	told    time.Time // when its holder must know, then

	turn      bool      // of a cohort
	granted   time.Time // to it, or to an earlier turn
	uncovered bool      // by a watchdog, in a pause of its process

	patient  bool          // it is asked for until Redis has answered
	lease    time.Duration // that is asked for
	replicas int           // that confirmed it
	safe     time.Time     // until when these have it
}

// keys are the locks that must not be held by others.
func (b *belief) keys() []string {
	if b.lock.Kind == Multi {
		return []string{b.lock.Name + "1", b.lock.Name + "2"}
	}
	return []string{b.lock.Name}
}

// reported says that the hold is over, and its holder was told.
func (b *belief) reported() bool {
	select {
	case <-b.done:
		return true
	default:
		return b.ended
	}
}

// believes says that the holder may use the hold now. It has no effect on the hold, unlike Valid.
func (b *belief) believes(now time.Time) bool {
	return !b.reported() && !b.actor.process.stopped() && now.Before(b.hold.Deadline())
}

// forget notes that Redis may have a hold for longer than its holder: it was detached, its release
// has failed, or it has lapsed, which is a moment before Redis ends it.
func (b *belief) forget() {
	w := b.actor.process.world
	for _, h := range singles(b.hold) {
		w.forgotten[h.Owner()] = true
		w.unannounced[h.Name()] = true
	}
}

// excuse excuses the holder, who learns of it before a renewal could have confirmed the hold again.
func (b *belief) excuse() {
	b.excused = true
	b.told = later(b.told, later(b.hold.Deadline(), time.Now().Add(b.lease)))
}

// field is that of a hold in Redis.
func (b *belief) field(h *redlatch.Hold) string {
	if b.lock.Kind == RW && !b.read {
		return protocol.WriterField(h.Owner())
	}
	return h.Owner()
}
