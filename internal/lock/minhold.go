package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// MinHold (Options.MinHold) is the time for which a lock stays at least. The acquisition asks for a lease of
// that time at least, and no request lowers a TTL while the lock is held. So Redis alone keeps the lock for that long. The
// release sets the TTL to the rest: the owner's field stays, and nobody renews it.
//
// Between any two lines this can happen:
//
//	the process dies        before the release: the lock ends with its TTL, which is its lease or
//	                        what is left of MinHold. After it: with the rest
//	the reply is lost       the release is sent again. It sets the same rest, a moment later
//	no reply comes in time  the TTL is the rest, or still the lease: in either case not shorter
//	a late renewal comes    it raises the TTL to the lease once more. The lock stays for longer
//	the client closes       as at a release
//	nobody got the hold     of a caller that has gone, the lock is released at once

// raiseMinHold says that the lock is not to be free before a moment. The mutex is held.
func (g *Grant) raiseMinHold(end time.Time) {
	if end.After(g.minHoldEnd) {
		g.minHoldEnd = end
	}
}

// dropMinHold forgets MinHold of a hold that no caller will have.
func (r *Ref) dropMinHold(h *Hold) {
	if g, single := h.backend.(*Grant); single {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.again { // otherwise it may be MinHold of another hold
			g.minHoldEnd = time.Time{}
		}
	}
}

// inMinHold says that MinHold is not over: the lock stays if it is released now.
func (g *Grant) inMinHold() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Before(g.minHoldEnd)
}

// minHoldCall is the release of a lock during its MinHold. It reports false if it is over. The
// mutex is held.
func (g *Grant) minHoldCall() (call script.Call, rest time.Duration, ok bool) {
	if g.minHoldEnd.IsZero() {
		return call, 0, false
	}
	if rest = time.Until(g.minHoldEnd); rest < time.Millisecond {
		return call, 0, false
	}
	return g.mutex().Leave(g.owner, rest+time.Millisecond, !g.ref.fair), rest, true
}

// mutex is the mode of a mutex, fair or not.
func (g *Grant) mutex() script.Mutex {
	if fair, ok := g.ref.mode.(script.Fair); ok {
		return fair.Mutex
	}
	return g.ref.mode.(script.Mutex)
}

// minHoldRequest is minHoldCall, and tells the session of the end.
func (g *Grant) minHoldRequest(r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	call, rest, ok := g.minHoldCall()
	if ok {
		r.is(call, rest)
		g.protect(r, g.term(), g.counts(), false)
	}
	return ok
}

// closeCall releases everything, or leaves what is left of MinHold. The session is told nothing: it
// ends.
func (g *Grant) closeCall() script.Call {
	g.mu.Lock()
	call, _, ok := g.minHoldCall()
	g.mu.Unlock()
	if ok {
		return call
	}
	return g.releaseCall()
}

// releaseInMinHold sends the release of a lock that stays for a while. Waiters of this process look again.
func (g *Grant) releaseInMinHold(ctx context.Context, request *request) error {
	result, err := g.manager.send(ctx, g.manager.releases, request)
	released, err := g.readReleased(result, err)
	g.manager.queues.Wake(g.ref.queue, g.attempt.waiter)
	if err == nil && !released.Held && (!result.Repeated || g.unconfirmed) { // as ended says
		return g.ref.lostError("unlock", errGoneAtRelease)
	}
	return err
}
