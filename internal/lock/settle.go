package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// ending is a request that makes Redis say of an owner what its grant says here: its counts with their
// lease, or nothing, or that the lock stays for the rest of MinHold. Every end is told by one.
type ending struct {
	*Grant
	request
	remain bool                // the owner has other holds
	writes bool                // some of them of the write side
	stays  bool                // the lock stays for the rest of MinHold
	held   bool                // its holder wants to know whether it was held until now
	sure   bool                // its deadline had not passed by then
	tells  int64               // how many holds had ended
	noted  bool                // the last call removes its note
	frees  bool                // the wait queue has been told that the lock is about to be free
	next   []*waitqueue.Waiter // to whom it is handed over: their requests follow in the same write
}

// is makes it a request of one call.
func (e *ending) is(call script.Call, lease time.Duration) { e.request.is(call.Ending(), lease) }

// ending makes the request. Some hold has ended, or was never granted. The mutex is held since then, so that it is the
// end of no other hold.
func (g *Grant) ending() (e ending) {
	e.Grant, e.tells, e.remain, e.sure = g, g.ends.Load(), len(g.holds) > 0, g.manager.session == nil || !g.Term().Over(time.Now())
	term, counts, rest := g.term(), g.counts(), time.Until(g.minHoldEnd)
	e.writes = counts.Writes > 0
	if g.toldReads = g.toldReads || e.remain && !e.writes; g.ended != nil {
		g.toldEnd++
	}
	switch {
	case e.remain:
		lease := remaining(term)
		e.is(g.ref.Calls().Release(g.owner, g.maxReads, counts, lease), lease)
	case rest >= time.Millisecond:
		e.stays = true
		e.is(g.ref.mutex.MinHold(g.owner, rest+time.Millisecond, !g.ref.fair), rest)
	case !e.freeInTwo():
		e.is(g.ref.Calls().Release(g.owner, g.maxReads, counts, 0), 0)
	}
	if e.noted = !e.remain && g.hasNote(); e.noted {
		e.calls[1], e.n = g.ref.Calls().Forget(g.owner), 2
	}
	return e
}

// freeInTwo makes it the release of a mutex in two commands, which costs the server half as much as a
// script. It reports false if that cannot be. In a cluster the keys of a slot on the move are on two
// servers. What was not held until now would wake waiters for nothing. A manager whose waiters poll may
// have a server, or a proxy, that does not know the command that publishes.
func (e *ending) freeInTwo() bool {
	m := e.manager
	if e.hasNote() || e.ref.mode != nil || e.ended != lockerr.ErrReleased || m.sharded != nil || m.Backoff.Polls() || m.Closing() {
		return false
	}
	free, announce, ok := e.ref.mutex.Free(e.owner)
	if ok {
		e.is(free, 0)
		e.calls[1], e.two, e.n = announce, true, 2
	}
	return ok
}

// endHold ends one hold, as its holder wishes, and makes the request for that. If the lock is to be free,
// it picks the waiters of this process that are to have it next. After a read hold there are none:
// others may still read, and whoever waits here looks when the release has been answered.
func (g *Grant) endHold(h *Hold) (e ending, err error) {
	g.Expire() // first, so that a late release is not taken for a good one
	g.mu.Lock()
	if err = g.end(h, nil); err == nil {
		e = g.ending()
	}
	g.mu.Unlock()
	if err != nil {
		return e, err
	}
	e.held, e.frees = true, !e.remain && !e.stays
	if e.frees {
		if next := g.manager.queues.Release(g.ref.queue, g.attempt.waiter, !g.ref.fair && !h.read); next != nil {
			e.next = []*waitqueue.Waiter{next}
			if !g.ref.permits { // of which one is free
				e.next = append(e.next, next.Batch()...)
			}
		}
	}
	return e, nil
}

// settle sends one ending.
func (m *Manager) settle(ctx context.Context, e *ending) error {
	if e.next != nil {
		return m.settleAll(ctx, *e)[0]
	}
	result, err := m.send(ctx, m.releases, &e.request)
	return e.settled(&result, err)
}

// settleAll sends endings in one write, each with the requests of its successors behind it.
func (m *Manager) settleAll(ctx context.Context, all ...ending) []error {
	if len(all) == 0 {
		return nil
	}
	var requests []request
	for i := range all {
		requests = append(append(requests, all[i].request), acquireRequests(all[i].next)...)
	}
	results := m.sendAll(ctx, m.releases, requests...)
	errs := make([]error, len(all))
	for i := range all {
		e := &all[i]
		n := 1 + len(e.next)
		m.complete(e.next, requests[1:n], results[1:n], e.owner)
		errs[i] = e.settled(&results[0], results[0].Failed())
		requests, results = requests[n:], results[n:]
	}
	return errs
}

// settleAside tells Redis of the end of grants for which no caller waits. It says on done whether nothing
// is left of them. A release follows an unanswered request on the same connection, so it does not overtake it. If the
// holder has ended a grant meanwhile, Redis was told, or the lock is to stay.
func (m *Manager) settleAside(done chan<- bool, grants ...*Grant) {
	m.Go(func() {
		var all []ending
		for _, g := range grants {
			g.mu.Lock()
			if g.ended != lockerr.ErrReleased && !g.left {
				all = append(all, g.ending())
			}
			g.mu.Unlock()
		}
		done <- errors.Join(m.settleAll(context.Background(), all...)...) == nil
	})
}

// Grace is for how long a caller whose time is up waits for the confirmation that nothing is
// held. With a server that answers it takes one round trip.
const Grace = 25 * time.Millisecond

// compensate is settleAside, and reports whether it was confirmed at once that nothing is left.
func (m *Manager) compensate(grants ...*Grant) (confirmed bool) {
	done := make(chan bool, 1)
	m.settleAside(done, grants...)
	return pause.Within(Grace, done)
}

// settled takes the answer to an ending, and tells whom it concerns.
func (e *ending) settled(result *script.Result, err error) error {
	var released script.Released
	if err == nil {
		released, err = script.ReadReleased(result.Reply)
	}
	if released.PublishDenied {
		e.manager.PublishDenied(e.ref.mutex.Channel)
	}
	overtaken := e.overtaken(err == nil && !released.Held && !result.Repeated)
	e.tell(released, result, err, overtaken)
	for now := e.confirmed.Load(); released.Held && e.tells > now && !e.confirmed.CompareAndSwap(now, e.tells); {
		now = e.confirmed.Load()
	}
	switch {
	case err != nil:
		err = Failure("unlock", e.ref.Name, err)
		if !e.held && errors.Is(err, lockerr.ErrWrongType) {
			return nil // what is no such lock has nothing of the grant
		}
		return err
	case released.Held || !e.held || overtaken:
		return nil
	case !e.remain && result.Repeated && e.sure:
		return nil // this is what the first request has left behind: the lock was held when that was sent
	}
	return e.ref.lostError("unlock", errGoneAtRelease)
}

// overtaken says that a refusal is no proof of a loss: Redis may have carried out a later request first, which said that the grant,
// or its write side, has ended. It takes note of a refusal that is a proof: then Redis has carried out no other request that
// said so.
func (e *ending) overtaken(refused bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	overtaken := e.remain && !e.gone && (e.toldEnd > 0 || e.writes && e.toldReads)
	e.gone = e.gone || refused && !overtaken && (e.remain || e.toldEnd == 1)
	return overtaken
}

// tell tells the waiters of this process, or the grant if holds of it remain.
func (e *ending) tell(released script.Released, result *script.Result, err error, overtaken bool) {
	m, queue := e.manager, e.ref.queue
	switch {
	case e.frees && released.Held && !released.Freed: // other readers hold it
	case e.frees:
		told := released.Told
		if e.ref.fair {
			told = 0 // the head of the queue, who needs no offer
			m.keepAlive.Wake(e.ref.Lock, true)
		}
		m.queues.Released(queue, e.next != nil, told, time.Since(result.Asked))
	case !e.remain && err == nil && !released.Held && !result.Repeated && e.attempt.waiter == nil: // nothing has changed
	case !e.remain:
		m.queues.Wake(queue, e.attempt.waiter)
	case err != nil:
		e.mu.Lock()
		e.writeEnded = e.writeEnded || !e.writes // the next renewal tells Redis
		e.mu.Unlock()
		if unsure(result, err) {
			e.outlived(e.lease)
		}
	case !released.Held && overtaken:
		e.look()
	case !released.Held:
		e.Lost(errGoneAtRelease)
	default:
		e.extend(result.Asked, e.lease)
		if released.Freed { // the owner reads on
			m.queues.Wake(queue, nil)
		}
	}
}

// PublishDenied tells the log, once, that the server refused to publish.
func (m *Manager) PublishDenied(channel string) {
	m.denied.Do(func() {
		m.Logger.Warn("redlatch: the server refused to publish; waiters are not woken but look by themselves", "channel", channel)
	})
}
