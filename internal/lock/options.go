package lock

import (
	"context"
	"math"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Options are what one acquisition asks for. They are valid, and nobody changes them: acquisitions
// share them.
type Options struct {
	Lease   time.Duration
	Fixed   bool          // the lease is not renewed
	Longest time.Duration // the limit of a Quorum for every lease of the grant; 0: no limit
	Open    bool          // the hold is of a whole with an end, of which Confirm tells
	Wait    time.Duration // Forever: the context alone bounds the wait; 0: none
	Fenced  bool          // with a token
	MaxHold time.Duration // the hold ends after it at the latest; 0: no limit
	MinHold time.Duration // the lock stays for so long at least; 0: no limit. Of a mutex, fair or not
	Tokens  int64         // with Fenced, how many tokens are taken at once; 0: one

	Note    string // what the hold is for, for people; "" for none
	Recalls bool   // the context of the hold ends when it is recalled

	Backoff Backoff // of the wait; zero: as the manager's

	// ForOthers: the hold serves several callers, one after another. So it comes behind whoever waits in
	// this process, also without a wait. The callers tell the observer of theirs, and nobody of this one.
	ForOthers bool

	Replicas       int           // that have to confirm the hold
	ReplicaTimeout time.Duration // for how long to wait for them
}

// Backoff says how a wait polls.
type Backoff = waitqueue.Backoff

// Forever is a wait that only its context bounds.
const Forever time.Duration = math.MaxInt64

// replicaTime is for how long replicas may take, if a request takes a trip. What they confirm is one lease: behind it their
// confirmation is worth nothing, and a hold that ends by itself is over.
func (o *Options) replicaTime(trip time.Duration) time.Duration {
	lease := o.Lease
	if o.MaxHold > 0 {
		lease = min(lease, o.MaxHold)
	}
	return max(min(o.ReplicaTimeout, lease/4*3-2*trip), time.Millisecond)
}

// Until is when a hold that was asked for at a moment ends at the latest; zero without a limit.
func (o *Options) Until(asked time.Time) time.Time {
	if o.MaxHold == 0 {
		return time.Time{}
	}
	return asked.Add(o.MaxHold)
}

// firstLease is the lease that an acquisition asks for.
func (o *Options) firstLease() time.Duration {
	lease := max(o.Lease, o.MinHold)
	if o.MaxHold > 0 {
		lease = min(lease, o.MaxHold)
	}
	return lease
}

// OfMember are the options of one of several locks that are held as one, for a client with that lease. The
// member is renewed, without a limit and without replicas, whatever is asked of the whole.
func (o *Options) OfMember(lease time.Duration) Options {
	lease = min(o.Lease, lease)
	if o.MaxHold > 0 {
		lease = min(lease, o.MaxHold) // its key does not outlive the whole
	}
	return Options{Lease: lease, Open: o.Fixed || o.MaxHold > 0, Wait: o.Wait, Fenced: o.Fenced, Backoff: o.Backoff, Note: o.Note}
}

// leaseAlone says that Redis is asked for nothing but a lease.
func (o *Options) leaseAlone() bool {
	return *o == Options{Lease: o.Lease, Open: o.Open, Wait: o.Wait, Backoff: o.Backoff, Note: o.Note, Recalls: o.Recalls}
}

// Limit is a context that ends with the wait. The function is nil if ctx alone bounds that.
func (o *Options) Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Wait <= 0 || o.Wait == Forever {
		return ctx, nil
	}
	return context.WithTimeout(ctx, o.Wait)
}
