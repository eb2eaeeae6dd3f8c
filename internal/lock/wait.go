package lock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// wait stands in the local wait queue until the lock is granted or the wait ends. Only the front
// of the queue asks Redis. A release of this process may ask for it.
func (a *attempt) wait(limited context.Context, last outcome) (*Hold, error) {
	m := a.manager
	w := m.queues.Join(a.queueKey(), a, a.ref.read)
	if a.queues() {
		m.keepAlive.add(a)
		defer m.keepAlive.remove(a)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	longest := a.pollCap()
	for {
		turn := w.Turn(time.Now())
		var o outcome
		switch {
		case turn.Result != nil:
			o = turn.Result.(outcome)
		case turn.Try:
			o = a.ask(limited, w.Batch())
			if o.err != nil {
				w.Leave()
				o.ttl, o.holder = last.ttl, last.holder
				return nil, a.cancel(limited, o)
			}
		default:
			if err := m.sleep(limited, w, turn, timer); err != nil {
				return a.endWait(limited, last)
			}
			continue
		}
		if o.hold != nil {
			w.Enter(a.nextLook())
			return o.hold, nil
		}
		if o.err != nil {
			w.Tried(time.Time{}) // the hand-over failed: ask for oneself
			continue
		}
		last = o
		w.Tried(time.Now().Add(Nap(o.ttl, longest)))
	}
}

// Joined makes the waiter known to whoever claims it.
func (a *attempt) Joined(w *waitqueue.Waiter) { a.waiter = w }

// pollCap is the longest nap of a contender. Waiters in a queue in Redis are woken by the
// keep-alive of their process as well, and would all be contenders: they ask more seldom.
func (a *attempt) pollCap() time.Duration {
	if a.queues() {
		return 6 * a.manager.settings.PollCap
	}
	return a.manager.settings.PollCap
}

// nextLook is when the waiter behind a grant is to ask for the lock: at once if both may hold
// it, and otherwise when the lease is over or at the poll cap, as after an attempt of its own.
func (a *attempt) nextLook() time.Time {
	if a.ref.read {
		return time.Time{}
	}
	return time.Now().Add(Nap(a.opts.Lease, a.manager.settings.PollCap))
}

// acquireRequests are the requests of claimed waiters.
func acquireRequests(claimed []*waitqueue.Waiter) []request {
	all := make([]request, len(claimed))
	for i, w := range claimed {
		all[i] = w.Value.(*attempt).acquireRequest()
	}
	return all
}

// complete tells claimed waiters what their requests came to. What was taken for one that has
// left meanwhile is released.
func (m *Manager) complete(claimed []*waitqueue.Waiter, requests []request, results []script.Result) {
	for i, w := range claimed {
		a := w.Value.(*attempt)
		if o := a.read(requests[i].lease, results[i], results[i].Failed()); !w.Complete(o, o.hold != nil) {
			m.life.background.Go(func() { a.releaseLate(o) })
		}
	}
}

// endWait leaves the wait queue because the time is up or the manager closes. A grant that is
// there by then counts, unless the caller is gone. If a release is just now asking for this
// waiter, it releases the lock, and for a moment is waited for.
func (a *attempt) endWait(limited context.Context, last outcome) (*Hold, error) {
	a.released = make(chan bool, 1)
	claimed := a.waiter.Leave()
	if completed, ok := a.waiter.Turn(time.Now()).Result.(outcome); ok {
		last = completed
	}
	if last.hold != nil {
		if a.ctx.Err() == nil && a.manager.life.ctx.Err() == nil {
			return last.hold, nil
		}
		a.manager.life.background.Go(func() { a.releaseLate(last) })
	}
	var err error
	switch {
	case !claimed && last.hold == nil:
		err = a.cancel(limited, last)
	case within(Grace, a.released):
		err = a.ref.notAcquired(a.ctx, outcome{})
	default:
		err = lockerr.WithCause(fmt.Errorf("redlatch: lock %q: %w: a release was asking for it", a.ref.Name, lockerr.ErrUnknownOutcome), a.ctx)
	}
	if limited.Err() == nil {
		return nil, a.ref.lockError(lockerr.ErrClosed)
	}
	return nil, err
}

// releaseLate releases what was taken for a waiter that has left, and tells it whether nothing
// is left of it.
func (a *attempt) releaseLate(o outcome) {
	var err error
	switch {
	case o.hold != nil:
		if a.manager.life.enterRelease() { // otherwise Close releases it, and waits for this
			defer a.manager.life.leave()
			_, err = a.releaseInTurn(context.Background(), o.hold)
		}
	case a.unknown:
		err = a.manager.releaseUnknown(a)
	default:
		a.unprotect()
	}
	a.released <- err == nil
}

// Nap is for how long a contender sleeps when nobody wakes it: until the end of the holder's
// ttl, a millisecond later because Redis rounds, or for the poll cap, whichever is first.
func Nap(ttl, pollCap time.Duration) time.Duration {
	pollCap -= rand.N(pollCap / 5)
	if ttl < 0 {
		return pollCap
	}
	return min(max(ttl+time.Millisecond, shortNap), pollCap)
}

// shortNap keeps a lock that shows no time left again and again from being asked all the time.
const shortNap = 5 * time.Millisecond

// Watch puts a waiter into the wait queue of the lock that asks for nothing. It only wants to
// know when the lock may have changed.
func (r *Ref) Watch() *waitqueue.Waiter { return r.manager.queues.Join(r.queue, nil, false) }

// AwaitChange waits with a waiter of Watch until the lock may have changed, ctx ends, or the
// manager closes.
func (m *Manager) AwaitChange(ctx context.Context, w *waitqueue.Waiter) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		turn := w.Turn(time.Now())
		if turn.Try || m.sleep(ctx, w, turn, timer) != nil {
			return
		}
	}
}

// sleep waits for the next thing to do. Only the contender goes by the clock.
func (m *Manager) sleep(limited context.Context, w *waitqueue.Waiter, turn waitqueue.Turn, timer *time.Timer) error {
	var alarm <-chan time.Time
	if turn.Front {
		timer.Reset(time.Until(turn.At))
		alarm = timer.C
	}
	select {
	case <-w.Woken():
	case <-alarm:
	case <-limited.Done():
		return limited.Err()
	case <-m.life.ctx.Done():
		return lockerr.ErrClosed
	}
	return nil
}
