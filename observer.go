package redlatch

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
)

// Observer receives the events of a client. Packages redlatchprom and redlatchotel have observers
// for Prometheus and OpenTelemetry.
//
// Its method must be safe for concurrent use, and must not block: Lock and Unlock call it in the
// caller's goroutine. For members of a Multi or a Quorum, goroutines of a client call it as well. A goroutine of the
// client reports EventLost, EventClosed, EventRenewed and EventRecalled, and calls the logger. If an observer hangs there, some EventRenewed are left out. The method may
// use the client, and close it. If it panics, the log says so, and nothing else changes.
//
// The context has the values of the caller's context: that of Unlock for EventReleased, that of
// ForceUnlock for EventForced, and that of Lock for all other events. It may have ended. Events
// of a member of a Multi or a Quorum have the context of the Lock or Unlock of the whole.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Event is one thing that happened to a lock of this client.
type Event struct {
	Kind     EventKind
	Lock     string
	LockKind LockKind
	Owner    string // "" if no owner got the lock
	Token    int64  // of the hold, as Hold.Token; 0 without one
	Note     string // of the owner (WithNote); "" without one

	// Holder is the owner that held the lock, as last seen, for EventNotAcquired and an
	// EventAcquired after a wait. It is "" if none was seen.
	Holder string
	// Since is when the hold was acquired. It is zero for EventNotAcquired and EventForced.
	Since time.Time
	// Took is the wait for EventAcquired and EventNotAcquired, the time of the request for
	// EventRenewed, and otherwise the time held: until Unlock was called, for EventReleased.
	Took time.Duration
	// Left is the time to the deadline of the hold at that moment, and for EventRenewed to the one
	// before the renewal. It is negative if the deadline had passed, which EventLost tells of, and
	// EventRenewed if a watchdog has kept the hold.
	Left time.Duration
	// Late says for EventRenewed that half of the lease had gone.
	Late bool
	// Loss is why a hold was lost, for EventLost, and for an EventReleased or EventClosed that finds the hold lost.
	Loss Loss
	// Err is the reason for EventNotAcquired, EventLost, EventRecalled, and an EventReleased or EventClosed that
	// failed or found the hold lost. With ErrWrongType there is no Loss.
	Err error
}

// EventKind is what happened, as a string. Later versions may have more.
type EventKind = lock.EventKind

// The events. EventLost, EventClosed, EventRenewed and EventRecalled are reported once for each owner of a lock,
// whatever its number of holds. The others are reported once for each acquisition.
const (
	EventAcquired    EventKind = lock.EventAcquired    // "acquired"
	EventNotAcquired EventKind = lock.EventNotAcquired // "not acquired"
	EventReleased    EventKind = lock.EventReleased    // "released"
	EventDetached    EventKind = lock.EventDetached    // "detached"
	EventClosed      EventKind = lock.EventClosed      // "closed": Client.Close ended it
	EventLost        EventKind = lock.EventLost        // "lost"
	EventRenewed     EventKind = lock.EventRenewed     // "renewed": Redis confirmed more time
	EventForced      EventKind = lock.EventForced      // "forced": ForceUnlock of this client freed it
	EventRecalled    EventKind = lock.EventRecalled    // "recalled": somebody asks for it back
)

// LockKind is the kind of a lock, or the side of a read-write lock, as a string.
type LockKind = lock.LockKind

// The kinds. A Multi and a Quorum have no kind: each of their members has one.
const (
	KindMutex LockKind = lock.KindMutex // "mutex"
	KindFair  LockKind = lock.KindFair  // "fair"
	KindRead  LockKind = lock.KindRead  // "read"
	KindWrite LockKind = lock.KindWrite // "write"

	KindPermit LockKind = lock.KindPermit // "permit": of a PermitSemaphore
)

// Loss is why a hold was lost, as a string.
type Loss = lock.Loss

// The reasons.
const (
	LossExpired Loss = lock.LossExpired // "expired": no renewal was confirmed in time
	LossEnded   Loss = lock.LossEnded   // "ended": the time of WithLease or WithMaxHold was over
	LossGone    Loss = lock.LossGone    // "gone": the lock was forced open, or the server lost it
)

// Observers returns one observer that calls several, in this order. It skips nil ones. If one of
// them panics, the others are still called.
func Observers(each ...Observer) Observer {
	var all observers
	for _, o := range each {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

type observers []Observer

func (all observers) Observe(ctx context.Context, e Event) {
	if len(all) == 0 {
		return
	}
	defer all[1:].Observe(ctx, e)
	all[0].Observe(ctx, e)
}

// checkObserver refuses a nil pointer or function in an Observer, also as one of several. Each event would be a panic.
func checkObserver(o Observer) error {
	if all, several := o.(observers); several {
		for _, one := range all {
			if err := checkObserver(one); err != nil {
				return err
			}
		}
	}
	if v := reflect.ValueOf(o); (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil() {
		return fmt.Errorf("it is a nil %T: leave the field empty", o)
	}
	return nil
}
