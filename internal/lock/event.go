package lock

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
)

// Event is one thing that happened to a lock. See redlatch.Event.
type Event struct {
	Kind     EventKind
	Lock     string
	LockKind LockKind
	Owner    string
	Token    int64
	Note     string

	Holder string
	Since  time.Time
	Took   time.Duration
	Left   time.Duration
	Late   bool
	Loss   Loss
	Err    error
}

// What package redlatch shows to users, with doc comments of its own.
type (
	EventKind string
	LockKind  string
	Loss      string
)

// The kinds of events and locks, and why a hold was lost.
const (
	EventAcquired    EventKind = "acquired"
	EventNotAcquired EventKind = "not acquired"
	EventReleased    EventKind = "released"
	EventDetached    EventKind = "detached"
	EventClosed      EventKind = "closed"
	EventLost        EventKind = "lost"
	EventRenewed     EventKind = "renewed"
	EventForced      EventKind = "forced"
	EventRecalled    EventKind = "recalled"

	KindMutex  LockKind = "mutex"
	KindFair   LockKind = "fair"
	KindRead   LockKind = "read"
	KindWrite  LockKind = "write"
	KindPermit LockKind = "permit"

	LossExpired Loss = "expired"
	LossEnded   Loss = "ended"
	LossGone    Loss = "gone"
)

// Kind is the kind of the lock.
func (r *Ref) Kind() LockKind {
	switch {
	case r.permits:
		return KindPermit
	case r.read:
		return KindRead
	case r.key.lock.rw:
		return KindWrite
	case r.fair:
		return KindFair
	}
	return KindMutex
}

// event is an event of a lock.
func (r *Ref) event(kind EventKind) Event { return Event{Kind: kind, Lock: r.Name, LockKind: r.Kind()} }

// event is an event of a hold at some moment.
func (h *Hold) event(r *Ref, kind EventKind, at time.Time) Event {
	e := r.event(kind)
	e.Owner, e.Token, e.Since, e.Took, e.Left = h.Owner(), h.token, h.since, at.Sub(h.since), h.Deadline().Sub(at)
	if g, single := h.backend.(*Grant); single {
		e.Note = g.noted()
	}
	if h.read {
		e.LockKind = KindRead
	}
	return e
}

// observe tells the observer, with the context of the caller. A panic of the observer goes no
// further than the log: it may happen while a lock is taken or given back.
func (m *Manager) observe(ctx context.Context, e Event) {
	if m.Observe == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			m.Logger.Error("redlatch: the observer panicked", "event", e.Kind, "lock", e.Lock, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	m.Observe(ctx, e)
}

// TellAcquired tells of an acquisition, or of its error.
func (r *Ref) TellAcquired(ctx context.Context, h *Hold, began time.Time, err error) {
	m := r.manager
	switch {
	case m.Observe == nil:
	case err == nil:
		m.tellAcquired(ctx, began, []*Ref{r}, []*Hold{h})
	default:
		e := r.event(EventNotAcquired)
		if seen, ok := errors.AsType[*lockerr.NotAcquiredError](err); ok {
			e.Holder = seen.Holder
		}
		e.Took, e.Err = time.Since(began), err
		m.observe(ctx, e)
	}
}

// tellAcquired tells of acquisitions of these locks, with the owners that they waited for. A hold that is nil is none. If
// the observer ends the goroutine of the caller, nobody has the holds, and they are released.
func (m *Manager) tellAcquired(ctx context.Context, began time.Time, refs []*Ref, holds []*Hold) {
	told := m.Observe == nil
	defer func() {
		for _, h := range holds {
			if !told && h != nil {
				_ = h.Unlock(ctx)
			}
		}
	}()
	for i, h := range holds {
		if now := time.Now(); !told && h != nil {
			e := h.event(refs[i], EventAcquired, now)
			e.Holder, e.Took = h.WaitedFor(), now.Sub(began)
			m.observe(ctx, e)
		}
	}
	told = true
}

// TellForced tells that the lock was forced open, of an owner or of whoever held it.
func (r *Ref) TellForced(ctx context.Context, owner string) {
	e := r.event(EventForced)
	e.Owner = owner
	r.manager.observe(ctx, e)
}

// TellEnd tells of the end of a hold that was held until that moment, which its backend does not tell.
func (r *Ref) TellEnd(ctx context.Context, h *Hold, kind EventKind, at time.Time, err error) {
	if r.manager.Observe == nil {
		return
	}
	e := h.event(r, kind, at)
	if e.Err = err; errors.Is(err, lockerr.ErrLost) {
		e.Loss = LossGone
	}
	r.manager.observe(context.WithoutCancel(ctx), e)
}

// observeRenewals tells of the renewals of a batch. They are told together and aside: the observer
// does not delay the next renewals.
func (m *Manager) observeRenewals(batch []renew.Renewal, answers []renew.Answer) {
	if m.Observe == nil {
		return
	}
	now := time.Now()
	m.reporter.TryAdd(func() {
		for i, answer := range answers {
			if answer.Err != nil || !answer.Held {
				continue
			}
			term, g := batch[i].Term, batch[i].Item.Subject.(*Grant)
			e := g.first.event(g.ref, EventRenewed, now)
			e.Took, e.Left = now.Sub(answer.Asked), term.Deadline().Sub(now)
			e.Late = now.Sub(term.Asked) > term.Lease/2
			m.observe(g.first.parent, e)
		}
	})
}

// loss says why a hold is lost whose lease was renewed by that term.
func loss(term renew.Term, why error) Loss {
	switch {
	case !errors.Is(why, renew.ErrExpired):
		return LossGone
	case term.Every == 0 || term.Final():
		return LossEnded
	}
	return LossExpired
}

// observeClosed tells, aside, that closing the manager has released a grant, or why it has not.
func (m *Manager) observeClosed(g *Grant, at time.Time, err error) {
	if m.Observe == nil {
		return
	}
	e := g.releaseEvent(EventClosed, &g.first, at, err)
	m.reporter.Add(func() { m.observe(g.first.parent, e) })
}

// releaseEvent tells of the release of a hold that was held until that moment, and of the loss that it found out.
func (g *Grant) releaseEvent(kind EventKind, h *Hold, at time.Time, err error) Event {
	e := h.event(g.ref, kind, at)
	e.Err = err
	g.mu.Lock()
	defer g.mu.Unlock()
	if errors.Is(err, lockerr.ErrLost) && g.ended == lockerr.ErrReleased {
		e.Loss = LossGone // otherwise an event of its own tells
	}
	return e
}
