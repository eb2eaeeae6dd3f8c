package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Unlock releases one hold, and tells the observer.
func (g *Grant) Unlock(ctx context.Context, h *Hold) error {
	released, err := g.release(detached(ctx), h)
	if released && !h.forOthers {
		g.manager.observe(ctx, g.releaseEvent(h, err))
	}
	return err
}

// ReleaseTogether is Unlock for many holds of one manager, most of them in one request. It
// reports the outcome of each. The observer is told outside of the operation, because it may
// close the client.
func (m *Manager) ReleaseTogether(ctx context.Context, holds []*Hold, outcomes chan<- error) {
	last, shared, errs := m.releaseTogether(ctx, holds, outcomes)
	for i, err := range errs {
		g := last[i].Grant
		m.observe(ctx, g.releaseEvent(&g.first, err))
		outcomes <- err
	}
	for _, h := range shared { // each has to wait for its owner's request slot
		outcomes <- h.grant().Unlock(ctx, h)
	}
}

// releaseTogether releases those holds that have an owner of their own. It returns them, with
// their outcomes, and the others.
func (m *Manager) releaseTogether(ctx context.Context, holds []*Hold, outcomes chan<- error) (last []handover, shared []*Hold, errs []error) {
	if !m.life.enterRelease() {
		<-m.life.closed // Close releases every hold
	} else {
		defer m.life.leave()
	}
	for _, h := range holds {
		g := h.grant()
		if g.requestSlot != nil {
			shared = append(shared, h)
		} else if _, err := g.endHold(h); err != nil {
			outcomes <- err
		} else { // without a shared owner it was the only one
			g.remove()
			last = append(last, handover{g, h.read, g.successors(h.read)})
		}
	}
	return last, shared, m.handOver(detached(ctx), last)
}

// detached is a context that does not end with ctx. The runner bounds a release.
func detached(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

func (g *Grant) release(ctx context.Context, h *Hold) (released bool, err error) {
	if life := &g.manager.life; !life.enterRelease() {
		<-life.closed // Close releases every hold
	} else {
		defer life.leave()
	}
	if g.requestSlot != nil && !g.Expire() {
		limited, leave, _ := g.takeSlotToRelease(ctx)
		defer leave()
		ctx = limited
	}
	return g.releaseInSlot(ctx, h)
}

// releaseInSlot is release for who has the owner's request slot. It reports whether the hold was held
// until then.
func (g *Grant) releaseInSlot(ctx context.Context, h *Hold) (released bool, err error) {
	remaining, err := g.endHold(h)
	switch {
	case errors.Is(err, lockerr.ErrReleased):
		return false, nil
	case err != nil:
		return false, err
	case remaining > 0:
		return true, g.releaseOne(ctx, h)
	}
	g.remove()
	return true, g.releaseLast(ctx, h)
}

// releaseOne releases a hold that is not the owner's last. If that was its last write hold, it
// reads on, and other readers may enter.
func (g *Grant) releaseOne(ctx context.Context, h *Hold) error {
	var request request
	g.releaseRequest(&request, h.read)
	result, err := g.manager.send(ctx, g.manager.releases, &request)
	released, err := g.readReleased(result, err)
	if err != nil {
		g.oweRelease(h.read)
		return err
	}
	if !released.Held {
		g.Lost(errGoneAtRelease)
		return g.ref.lostError("unlock", errGoneAtRelease)
	}
	g.extend(result.Asked, request.lease)
	if released.Freed {
		g.manager.queues.Wake(g.ref.queue, nil)
	}
	return nil
}

// releaseLast releases the last hold of a grant that has left the engine. If somebody waits for
// the lock in this process, the request of the first of them goes along.
func (g *Grant) releaseLast(ctx context.Context, h *Hold) error {
	var request request
	if g.minHoldRequest(&request) {
		return g.releaseInMinHold(ctx, &request)
	}
	if next := g.successors(h.read); next != nil {
		return g.manager.handOver(ctx, []handover{{g, h.read, next}})[0]
	}
	g.releaseRequest(&request, h.read)
	result, err := g.manager.send(ctx, g.manager.releases, &request)
	return g.ended(false, result, err)
}

// successors says that the last hold, of that side, is about to be released, and picks the
// waiters to whom the lock is handed over, if there are any. After a read hold there are none:
// others may still read, and whoever waits here looks when the release has been answered.
func (g *Grant) successors(read bool) []*waitqueue.Waiter {
	next := g.manager.queues.Release(g.ref.queue, g.attempt.waiter, !g.ref.fair && !read)
	if next == nil {
		return nil
	}
	return append([]*waitqueue.Waiter{next}, next.Batch()...)
}

// handover is a grant whose last hold, of that side, is released, and who is to have the lock
// next.
type handover struct {
	*Grant
	read bool
	next []*waitqueue.Waiter
}

// handOver sends several releases in one request, each with the requests of its successors behind
// it.
func (m *Manager) handOver(ctx context.Context, all []handover) []error {
	if len(all) == 0 {
		return nil
	}
	var requests []request
	for _, h := range all {
		var release request
		h.releaseRequest(&release, h.read)
		requests = append(append(requests, release), acquireRequests(h.next)...)
	}
	results, _ := m.sendAll(ctx, m.releases, requests...)
	errs := make([]error, len(all))
	for i, h := range all {
		n := 1 + len(h.next)
		m.complete(h.next, requests[1:n], results[1:n], h.owner)
		errs[i] = h.ended(n > 1, results[0], results[0].Failed())
		requests, results = requests[n:], results[n:]
	}
	return errs
}

// ended takes the answer to the release of a last hold, and lets the waiters of this process
// know. After a repetition, "not held" is what the first request left behind: the deadline had
// not passed when it was sent, so the lock was held then. Of an unconfirmed hold nobody can say
// that.
func (g *Grant) ended(claimed bool, result script.Result, err error) error {
	released, err := g.readReleased(result, err)
	if released.Freed || !released.Held {
		told := released.Told
		if g.ref.fair {
			told = 0 // the head of the queue, who needs no offer
			g.manager.keepAlive.released(g.ref.Lock)
		}
		g.manager.queues.Released(g.ref.queue, claimed, told, time.Since(result.Asked))
	}
	if err == nil && !released.Held && (!result.Repeated || g.unconfirmed) {
		return g.ref.lostError("unlock", errGoneAtRelease)
	}
	return err
}

// readReleased reads the reply to a release.
func (g *Grant) readReleased(result script.Result, err error) (released script.Released, _ error) {
	if err == nil {
		released, err = script.ReadReleased(result.Reply)
	}
	if err != nil {
		return released, Failure("unlock", g.ref.Name, err)
	}
	if released.PublishDenied {
		g.manager.PublishDenied(g.ref.channel)
	}
	return released, nil
}

// PublishDenied tells the log, once, that the server refused to publish.
func (m *Manager) PublishDenied(channel string) {
	m.denied.Do(func() {
		m.settings.Logger.Warn("redlatch: the server refused to publish; waiters are not woken but look by themselves", "channel", channel)
	})
}
