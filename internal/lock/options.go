package lock

import (
	"math"
	"time"
)

// Options are what one acquisition asks for. They are valid.
type Options struct {
	Lease   time.Duration
	Fixed   bool          // the lease is not renewed
	Wait    time.Duration // Forever: the context alone bounds the wait; 0: none
	Fenced  bool          // with a token
	MaxHold time.Duration // the hold ends after it at the latest; 0: no limit

	Replicas       int           // that have to confirm the hold
	ReplicaTimeout time.Duration // for how long to wait for them
}

// Forever is a wait that only its context bounds.
const Forever time.Duration = math.MaxInt64

// Until is when a hold that was asked for at a moment ends at the latest; zero without a limit.
func (o Options) Until(asked time.Time) time.Time {
	if o.MaxHold == 0 {
		return time.Time{}
	}
	return asked.Add(o.MaxHold)
}
