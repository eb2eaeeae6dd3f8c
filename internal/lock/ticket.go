package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// errTicketOver is why a ticket is no hold any more.
var errTicketOver = errors.New("its time is over, or another has attached or released it")

// Ticket ends the hold without telling Redis, and returns what Attach makes a hold of.
func (h *Hold) Ticket() (string, error) {
	g, single := h.backend.(*Grant)
	if !single {
		return "", &lockerr.ConfigError{Field: "Ticket", Reason: "it is for the hold of a single lock, taken without WithCohort"}
	}
	e := h.event(g.ref, EventDetached, time.Now())
	if err := g.leave(h, g.bound); err != nil {
		return "", err
	}
	g.manager.observe(h.parent, e)
	g.mu.Lock()
	lease := h.opts.Lease
	g.mu.Unlock()
	return protocol.Ticket{Kind: string(e.LockKind), Name: g.ref.Name, Owner: g.owner, Token: h.token, Lease: lease.Milliseconds(), Note: g.noted()}.String(), nil
}

// bound says why a hold cannot be handed over, or nil. The mutex is held.
func (g *Grant) bound(h *Hold) error {
	h.mu.Lock()
	member := h.whole != nil
	h.mu.Unlock()
	var why string
	switch {
	case member:
		why = "the hold is of a member of a Multi or a Quorum"
	case len(g.holds) > 1:
		why = "its owner has other holds of the lock"
	case g.ends.Load() > g.confirmed.Load():
		why = "Redis may count other holds of its owner, whose end it has not confirmed"
	case time.Now().Before(g.minHoldEnd):
		why = "the time of WithMinHold is not over, and only this process knows of it"
	default:
		return nil
	}
	return &lockerr.ConfigError{Field: "Ticket", Reason: why}
}

// Attach makes a hold of a ticket, if Redis gives the lock to an owner of this process, and tells the observer.
func (m *Manager) Attach(ctx context.Context, text string) (*Hold, error) {
	t, r, err := m.ticket(text)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	h, err := r.attach(ctx, t)
	r.TellAcquired(ctx, h, began, err)
	return h, err
}

// ticket reads a ticket, and finds its lock.
func (m *Manager) ticket(text string) (t protocol.Ticket, r *Ref, err error) {
	if t, err = protocol.ParseTicket(text); err != nil {
		return t, nil, &lockerr.ConfigError{Field: "ticket", Reason: err.Error()}
	}
	var of Ref
	switch LockKind(t.Kind) {
	case KindMutex:
		of = m.Mutex(t.Name)
	case KindFair:
		of = m.FairMutex(t.Name)
	case KindRead:
		of, _ = m.RWMutex(t.Name)
	case KindWrite:
		_, of = m.RWMutex(t.Name)
	case KindPermit:
		of = m.Permits(t.Name)
	default:
		of.Err = &lockerr.ConfigError{Field: "ticket", Reason: "it is of a kind of lock that this version does not know"}
		return t, nil, of.Err
	}
	return t, &of, of.Usable()
}

func (r *Ref) attach(ctx context.Context, t protocol.Ticket) (*Hold, error) {
	m := r.manager
	if !m.Enter() {
		return nil, r.lockError(lockerr.ErrClosed)
	}
	defer m.Leave()
	opts := *m.Plain(Forever)
	if err := r.ready(ctx, &opts); err != nil {
		return nil, err
	}
	opts.Fenced, opts.Note = t.Token > 0, t.Note
	a := &m.newGrant(r, nil, attempt{ctx: ctx, opts: &opts}).attempt
	if o, here := a.heldHere(); here {
		return nil, r.notAcquired(ctx, o)
	}
	var request request
	a.moreRequest(&request, r.read, &opts, t.Owner)
	result, err := m.send(ctx, m.runner, &request)
	var left time.Duration
	if err == nil {
		left, err = script.ReadMoved(result.Reply)
	}
	moved := left > 0
	a.unsure = result.Asked.Add(left) // whoever had the ticket may have asked for any lease
	if moved && time.Now().Before(renew.Trust(result.Asked, request.lease)) {
		if h := a.add(acquisition{ctx, r.read, &opts, result.Asked, request.lease, 0}, t.Token); h != nil {
			return h, nil
		}
	}
	a.close(errNotGranted)
	if err == nil && !moved {
		return nil, r.lostError("attach", errTicketOver)
	}
	return nil, a.verdict(ctx, outcome{err: err}, (script.IsUnknown(err) || moved || result.Repeated) && !a.moveBack(t.Owner))
}

// moveBack has the ticket be as good as before, and reports whether that was confirmed at once.
func (g *Grant) moveBack(to string) bool {
	done := make(chan bool, 1)
	g.manager.Go(func() {
		result, err := g.manager.releases.Run(context.Background(), g.ref.Calls().Move(g.owner, to, g.ref.read, time.Millisecond).Ending())
		left, wrong := script.ReadMoved(result.Reply)
		done <- err == nil && wrong == nil && left > 0
	})
	return pause.Within(Grace, done)
}

// ExtendTicket has the lock of a ticket last for d from now, or for the lease of the hold that it was made of.
func (m *Manager) ExtendTicket(ctx context.Context, text string, d time.Duration) error {
	t, r, err := m.ticket(text)
	if err != nil {
		return err
	}
	if !m.Enter() {
		return r.lockError(lockerr.ErrClosed)
	}
	defer m.Leave()
	counts := script.Counts{Writes: 1}
	if r.read {
		counts = script.Counts{Reads: 1}
	}
	if d == 0 {
		d = time.Duration(t.Lease) * time.Millisecond
	}
	renewal := r.Calls().Renewal(t.Owner, counts, false, d)
	renewal.Note = t.Note
	result, err := m.runner.Run(ctx, script.Renew([]script.Renewal{renewal}))
	switch answer := readRenewed(result, err, []*Grant{nil})[0]; {
	case answer.Err != nil:
		return Failure("extend", r.Name, answer.Err)
	case !answer.Held:
		return r.lostError("extend", errTicketOver)
	}
	return nil
}
