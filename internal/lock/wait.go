package lock

import (
	"cmp"
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/keepalive"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// wait stands in the local wait queue until the lock is granted or the wait ends. Only the front
// of the queue asks Redis. A release of this process may ask for it.
func (a *attempt) wait(limited context.Context, last outcome) (*Hold, error) {
	limited, end := pause.Bound(limited)
	defer end()
	if a.manager.session != nil {
		a.below = holdings(a.ctx)
	}
	a.join(limited, last)
	if a.queues() {
		defer a.manager.keepAlive.Remove(a.ref.Lock, a.owner)
	}
	over, err := a.waiter.Wait(limited, func(next waitqueue.Step) (bool, error) { return a.step(limited, next, &last) })
	if !over {
		return a.endWait(limited, last)
	}
	return last.hold, err
}

// join joins the local wait queue.
func (a *attempt) join(limited context.Context, last outcome) {
	var w *waitqueue.Waiter
	if a.ref.permits {
		w = a.manager.queues.JoinPlaces(a.queueKey(), a)
	} else {
		w = a.manager.queues.Join(a.queueKey(), a, a.ref.read)
	}
	w.Limit(limited, 0)
	if a.queues() {
		// It has just asked. It asks again when its own channel is subscribed.
		w.Next(time.Now())
		a.tried(last.ttl)
		a.manager.keepAlive.Add(a.ref.mode.(script.Fair), keepalive.Waiter{Waiter: w, Owner: a.owner, Lease: a.opts.Lease})
	}
}

// tried ends an attempt that was refused. The ttl is negative for those in a queue in Redis that are
// not at its head: they need not poll.
func (a *attempt) tried(ttl time.Duration) {
	until := time.Now().Add(Nap(ttl, a.pollCap()))
	if a.queues() && ttl < 0 {
		a.waiter.Stay(until)
	} else {
		a.waiter.Tried(until)
	}
}

// step takes the result of a hand-over, or asks.
func (a *attempt) step(limited context.Context, next waitqueue.Step, last *outcome) (over bool, err error) {
	w := a.waiter
	o, handedOver := next.Result.(outcome)
	if !handedOver {
		if o = a.askWith(limited, a.batch(next)); o.err != nil {
			o.ttl, o.holder = last.ttl, last.holder
		}
	}
	switch {
	case o.err != nil && handedOver:
		w.Tried(time.Time{}) // ask for oneself
		return false, nil
	case a.over(limited, o):
		w.Leave()
		return true, a.cancel(limited, o)
	case o.err != nil:
		w.Tried(time.Now().Add(Nap(-1, a.manager.PollCap)))
	case o.hold != nil:
		a.see(cmp.Or(o.holder, last.holder))
		w.Enter(a.nextLook(handedOver))
	default:
		a.tried(o.ttl)
	}
	*last = o
	return o.hold != nil, nil
}

// batch are the readers to ask for together with this waiter. One that polls asks for itself alone: each
// poll would be a request for each reader. The next one asks with its batch as soon as this one has entered.
func (a *attempt) batch(next waitqueue.Step) []*waitqueue.Waiter {
	if next.Again {
		return nil
	}
	return a.waiter.Batch()
}

// see notes which owner it has waited for, for the observer.
func (a *attempt) see(owner string) {
	if a.manager.Observe != nil && owner != "" {
		a.seen = &owner
	}
}

// Joined makes the waiter known to whoever claims it.
func (a *attempt) Joined(w *waitqueue.Waiter) { a.waiter, w.Backoff = w, a.opts.Backoff }

// pollCap is the longest nap of a contender. Waiters in a queue in Redis are woken by the
// keep-alive of their process as well, and would all be contenders: they ask more seldom.
func (a *attempt) pollCap() time.Duration {
	if a.queues() {
		return 6 * a.manager.PollCap
	}
	return a.manager.PollCap
}

// nextLook is when the waiter behind a grant is to ask for the lock: at once if both may hold
// it, and otherwise when the lease is over or at the poll cap, as after an attempt of its own. A
// permit that was handed over was the only one that was known of.
func (a *attempt) nextLook(handedOver bool) time.Time {
	if a.ref.read || a.ref.permits && !handedOver {
		return time.Time{}
	}
	return time.Now().Add(Nap(a.opts.Lease, a.manager.PollCap))
}

// acquireRequests are the requests of claimed waiters.
func acquireRequests(claimed []*waitqueue.Waiter) []request {
	all := make([]request, len(claimed))
	for i, w := range claimed {
		w.Value.(*attempt).acquireRequest(&all[i])
	}
	return all
}

// complete tells claimed waiters what their requests came to. What was taken for one that has
// left meanwhile is released. From is the owner that released the lock for them.
func (m *Manager) complete(claimed []*waitqueue.Waiter, requests []request, results []script.Result, from string) {
	for i, w := range claimed {
		a := w.Value.(*attempt)
		o := a.read(requests[i].lease, &results[i], results[i].Failed())
		if o.hold != nil {
			o.holder = from
		}
		if !w.Complete(o, o.hold != nil) {
			a.abandon(o)
		}
	}
}

// endWait leaves the wait queue because the time is up or the manager closes. A grant that is
// there by then counts, unless the caller is gone. If a release is just now asking for this
// waiter, it releases the lock, and for a moment is waited for.
func (a *attempt) endWait(limited context.Context, last outcome) (hold *Hold, err error) {
	a.released = make(chan bool, 1)
	claimed := a.waiter.Leave()
	if completed, ok := a.waiter.Next(time.Now()).Result.(outcome); ok {
		last = completed
	}
	if last.hold != nil {
		if a.ctx.Err() == nil && a.manager.Life.Context.Err() == nil {
			a.see(last.holder)
			return last.hold, nil
		}
		last, a.unknown = outcome{}, true // nobody has it: it is released like any that may be there
	}
	a.close(errNotGranted) // what is granted from now on is no hold
	if claimed {
		err = a.verdict(limited, outcome{}, !pause.Within(Grace, a.released))
	} else {
		err = a.cancel(limited, last)
	}
	if limited.Err() == nil {
		err = a.ref.lockError(lockerr.ErrClosed)
	}
	return nil, err
}

// abandon ends the attempt of a waiter that has left, and releases, aside, what was taken for it.
func (a *attempt) abandon(o outcome) {
	a.close(errNotGranted)
	if o.hold == nil && !a.unknown {
		a.released <- true
		return
	}
	a.manager.settleAside(a.released, a.Grant)
}

// Nap is for how long a contender sleeps when nobody wakes it: until the end of the holder's
// ttl, a millisecond later because Redis rounds, or for the poll cap, whichever is first.
func Nap(ttl, pollCap time.Duration) time.Duration {
	pollCap -= random.Below(pollCap / 5)
	if ttl < 0 {
		return pollCap
	}
	return min(max(ttl+time.Millisecond, shortNap), pollCap)
}

// shortNap keeps a lock that shows no time left again and again from being asked all the time.
const shortNap = 5 * time.Millisecond

// Offer makes the next release of the lock by this process one after which others may take it first.
func (r *Ref) Offer(b Backoff) { r.manager.queues.Offer(r.queue, b) }

// Watch puts a waiter into the wait queue of the lock that asks for nothing. It only wants to
// know when the lock may have changed.
func (r *Ref) Watch(b waitqueue.Backoff) *waitqueue.Waiter { return r.manager.queues.Watch(r.queue, b) }
