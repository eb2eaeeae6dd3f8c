package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
)

// Times are the times of a job. Next returns the first time after t, or the zero time if there is none. It
// must return the same times on all machines, whenever it is called. Run passes t in UTC, so times without a zone
// of their own count in UTC on all machines. The cron expressions of
// github.com/robfig/cron/v3 are such Times. Its "@every" is not: it counts from the call, and Run refuses it.
type Times interface {
	Next(t time.Time) time.Time
}

// Every returns the multiples of d since midnight of 1 January of the year 1, UTC. So 15 minutes mean the
// quarters of every hour, on all machines. Run refuses less than a second.
func Every(d time.Duration) Times { return every(d) }

type every time.Duration

func (e every) Next(t time.Time) time.Time {
	if e <= 0 {
		return t // which Run refuses
	}
	return t.Truncate(time.Duration(e)).Add(time.Duration(e))
}

// Job is what Run runs.
type Job struct {
	// Do is the job. Due is the time for which Run calls it, as Times returned it. The context ends when the context of Run
	// ends, when the lock is lost or somebody asks for it (redlatch.Mutex.Recall), and after AtMost. Do must then return. The hold has a token, which the
	// job passes with each write (package fence).
	Do func(ctx context.Context, due time.Time, h *redlatch.Hold) error

	// AtLeast is how long the lock stays held from the beginning of a run, even if the job ends earlier
	// or its process dies (redlatch.WithMinHold). Set it to more than twice the difference between the
	// clocks of the machines. A run begins at most half of AtLeast late. After that the machine misses
	// the time, because another machine may have run the job and released the lock by then. AtLeast
	// counts as at most half of the time to the next run. Run refuses it at the start if it is longer than
	// the lease. Default: 10s.
	AtLeast time.Duration

	// AtMost is how long a run may take. After that its context ends, with redlatch.ErrLost, and the lock
	// is free (redlatch.WithMaxHold). It is not needed for machines that die, because their leases end. It
	// must not be shorter than AtLeast. Default: redlatch.Config.MaxHold, or no limit.
	AtMost time.Duration

	// Observe gets every event. Run calls it in its own goroutine, so it must not block. Default: none.
	Observe func(Event)
}

// Event says what this machine did at one time of a job.
type Event struct {
	Kind  EventKind
	Lock  string        // the name of the lock
	Due   time.Time     // the time
	Until time.Time     // for Missed: the next time that was not missed; all times before it were
	Late  time.Duration // for Ran: how long after Due it began
	Took  time.Duration // for Ran: how long the job took
	Token int64         // for Ran: the token of the hold
	// Err is the reason for Elsewhere and Missed. It does not match context.Canceled there, because the context
	// of Run has not ended. For Ran it has the error of the job, the error of a lock that was lost or could
	// not be released, and why Redis refused to note the time (package comment).
	Err error
}

// EventKind is what happened. Later versions may have more.
type EventKind string

// The events.
const (
	Ran       EventKind = "ran"       // this machine ran the job
	Elsewhere EventKind = "elsewhere" // another machine has run this time, or somebody else holds the lock
	Missed    EventKind = "missed"    // this machine could not take the lock in time
)

// The reasons for Missed, and one for Elsewhere. The error of the last attempt is another one.
var (
	// ErrOverrun means that the former run on this machine was still going on.
	ErrOverrun = errors.New("the former run was still going on")

	// ErrLate means that this process or its machine did not run at that time, or that its clock was set.
	ErrLate = errors.New("the process was not running at that time")

	// ErrRan, a reason for Elsewhere, means that another run of the job for this time has begun, and may be over. It
	// matches redlatch.ErrNotAcquired.
	ErrRan = fmt.Errorf("%w: the job was run for this time before", redlatch.ErrNotAcquired)

	// ErrObserve means that Job.Observe had not returned by then. Run reports such times before its next event.
	ErrObserve = errors.New("the former call of Observe had not returned")
)

const defaultAtLeast = 10 * time.Second

// withDefaults fills in the defaults, and refuses what cannot work.
func (j Job) withDefaults() (Job, error) {
	if j.AtLeast == 0 {
		j.AtLeast = defaultAtLeast
		if j.AtMost > 0 {
			j.AtLeast = min(j.AtLeast, j.AtMost)
		}
	}
	if j.Observe == nil {
		j.Observe = func(Event) {}
	}
	switch {
	case j.Do == nil:
		return j, &redlatch.ConfigError{Field: "Do", Reason: "it is nil"}
	case j.AtLeast < 0:
		return j, &redlatch.ConfigError{Field: "AtLeast", Reason: fmt.Sprintf("%v is negative", j.AtLeast)}
	case j.AtMost < 0:
		return j, &redlatch.ConfigError{Field: "AtMost", Reason: fmt.Sprintf("%v is negative", j.AtMost)}
	case j.AtMost > 0 && j.AtMost < j.AtLeast:
		return j, &redlatch.ConfigError{Field: "AtMost", Reason: fmt.Sprintf("%v is less than AtLeast, %v", j.AtMost, j.AtLeast)}
	}
	return j, nil
}
