package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// attempt is the work of acquiring one grant: one request, or a wait with several. It ends with
// a hold, or cancelled.
type attempt struct {
	*Grant
	ctx    context.Context // of the caller
	opts   *Options
	waiter *waitqueue.Waiter // nil if it never waited
	below  []holding         // that it waits below, if a session tells of that

	// unknown: a request was sent and its outcome is not known, so the lock may stand in Redis.
	unknown bool

	// queued: the last answer was no, and left a waiter in the queue in Redis.
	queued bool

	// seen is the owner that it has waited for, if somebody observes.
	seen *string

	// released tells a waiter that left while others asked for it whether nothing is left of
	// that.
	released chan bool
}

// outcome is what one request for the lock came to.
type outcome struct {
	hold   *Hold         // granted
	ttl    time.Duration // otherwise: of the holder, negative if it has none
	holder string        // "" if none was seen; with a hold, who released the lock for it
	note   string        // of the holder, "" if it has none
	err    error         // or there was no answer
}

// run acquires the grant: it asks, unless others wait already, and waits unless it is not to.
func (a *attempt) run(limited context.Context) (*Hold, error) {
	last, here := outcome{}, false
	if a.opts.Wait == 0 {
		last, here = a.heldHere()
	}
	if !here && !a.mustWait(limited) { // whoever comes later stands behind them
		last = a.ask(limited)
	}
	switch {
	case last.hold != nil:
		return last.hold, nil
	case a.opts.Wait == 0 || a.over(limited, last):
		return nil, a.cancel(limited, last)
	}
	return a.wait(limited, last)
}

// over says that a request came to an error that ends the wait. A slot that is open does not: the wait has an
// end of its own. What the request may have taken, the next one finds.
func (a *attempt) over(limited context.Context, o outcome) bool {
	return o.err != nil && (limited.Err() != nil || !script.Moving(o.err))
}

// mustWait says that others come first. What serves several callers has had the lock for long: it does not
// come before others for lack of time.
func (a *attempt) mustWait(limited context.Context) bool {
	switch {
	case a.opts.ForOthers:
		limited = context.WithoutCancel(limited)
	case a.opts.Wait == 0:
		return false
	}
	return a.manager.queues.MustWait(limited, a.queueKey())
}

// queueKey is the key of the local wait queue. For a fair lock each owner has its own, with a
// channel of its own: only the head of the queue is told.
func (a *attempt) queueKey() string {
	if a.ref.fair {
		return waitqueue.Key(a.ref.mutex.Channel+":"+a.owner, a.ref.Lock)
	}
	return a.ref.queue
}

// ask asks Redis for the lock once.
func (a *attempt) ask(ctx context.Context) outcome {
	var own request
	a.acquireRequest(&own)
	result, err := a.manager.send(ctx, a.manager.runner, &own)
	return a.read(own.lease, &result, err)
}

// askWith is ask. The waiters of a batch can hold the lock together with this one, and are asked for
// in the same request.
func (a *attempt) askWith(ctx context.Context, batch []*waitqueue.Waiter) outcome {
	if len(batch) == 0 {
		return a.ask(ctx)
	}
	m, all := a.manager, make([]request, 1, 1+len(batch))
	a.acquireRequest(&all[0])
	all = append(all, acquireRequests(batch)...)
	results := m.sendAll(ctx, m.runner, all...)
	m.complete(batch, all[1:], results[1:], "")
	return a.read(all[0].lease, &results[0], results[0].Failed())
}

// read takes the reply to a request. A grant that arrives when it can no longer be trusted is
// none, nor is one of a lock that another owner of this process holds: the next request finds its
// own field and extends it.
func (a *attempt) read(lease time.Duration, result *script.Result, err error) outcome {
	if err != nil {
		a.unknown = a.unknown || script.IsUnknown(err)
		return outcome{err: err}
	}
	got, err := script.ReadAcquired(result.Reply)
	if err != nil {
		a.unknown = a.unknown || result.Repeated // it was refused, and an earlier one maybe not
		return outcome{err: err}
	}
	if !got.Granted {
		a.unknown, a.queued = false, a.queues()
		return outcome{ttl: got.TTL, holder: got.Holder, note: got.Note}
	}
	if o, here := a.heldHere(); here {
		a.unknown = true
		return o
	}
	if time.Now().Before(renew.Trust(result.Asked, lease)) {
		if h := a.add(acquisition{a.ctx, a.ref.read, a.opts, result.Asked, lease, 0}, got.Token); h != nil {
			a.unknown, a.queued = false, false
			return outcome{hold: h}
		}
	}
	a.unknown = true
	return outcome{holder: a.owner}
}

// heldHere says that another owner of this process holds the lock, so that it is refused whatever Redis says.
func (a *attempt) heldHere() (outcome, bool) {
	other := a.manager.holders.rival(a.Grant, a.ref.read)
	if other == nil {
		return outcome{}, false
	}
	other.look()
	return other.seen(), true
}

// seen is what a refusal says of a grant of this process. Its deadline may have passed.
func (g *Grant) seen() outcome {
	return outcome{holder: g.owner, note: g.noted(), ttl: max(time.Until(g.Deadline()), 0)}
}

// queues says that a request which is not granted leaves a waiter in the queue in Redis.
func (a *attempt) queues() bool { return a.ref.fair && a.opts.Wait != 0 }

// cancel ends the attempt, of which the last request came to o. It releases what may have been
// taken and leaves the queue in Redis. The error says how the attempt ended.
func (a *attempt) cancel(limited context.Context, o outcome) error {
	a.close(errNotGranted)
	unknown := a.unknown
	if a.queued || unknown {
		unknown = !a.manager.compensate(a.Grant) && unknown
	}
	return a.verdict(limited, o, unknown)
}

// verdict is the error that says how the attempt ended, and whether that is unknown.
func (a *attempt) verdict(limited context.Context, o outcome, unknown bool) error {
	if !unknown {
		o.err = Bare(o.err)
		return a.ref.refusal(a.ctx, limited, o)
	}
	err := a.ref.lockError(lockerr.ErrUnknownOutcome)
	if o.err != nil {
		err = fmt.Errorf("%w: %w", err, Bare(o.err))
	}
	return lockerr.WithCause(err, a.ctx)
}
