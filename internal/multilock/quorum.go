package multilock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

// LockMajority takes a majority of the members. There are options for each.
func LockMajority(ctx context.Context, s Set, opts []lock.Options) (won *lock.Hold, err error) {
	o, err := newOrder(ctx, "Quorum", s.CommonName(), s, s.majority(), opts)
	if err != nil {
		return nil, err
	}
	for i, m := range o.Members {
		o.each[i].Wait, o.each[i].Longest = 0, m.Restart.Delay
	}
	caller := ctx
	ctx, end := pause.Bound(caller)
	defer end()
	limited, cancel := o.limit(ctx)
	defer cancel()
	l := newLookout(o)
	defer func() { l.leave(won != nil) }()
	for {
		g := o.group(caller, ctx)
		if err := g.blocked(); err != nil {
			_ = g.close()
			return nil, err
		}
		if g.vote(limited) && g.form(ctx, l.waiters) {
			return &g.hold, nil
		}
		err := g.verdict()
		if !o.waits() || !errors.Is(err, lockerr.ErrNotAcquired) || !l.wait(limited, g) {
			return nil, lockerr.WithCause(err, ctx)
		}
	}
}

// blocked says why a quorum that is under way must not be held. Of two that could be held at the
// same time, at least one sees the other.
func (o order) blocked() error {
	for i := range o.Members {
		if err := o.oneServer(i); err != nil {
			return err
		}
	}
	return o.disjoint()
}

// disjoint reports a quorum of other servers under way in this process that could be held at the
// same time: a majority of its members and one of ours need not share a server.
func (o order) disjoint() (err error) {
	for _, m := range o.Members {
		m.quorums.Range(func(live, _ any) bool {
			g, shared := live.(*group), 0
			for _, other := range g.Set.Members {
				if slices.ContainsFunc(o.Members, other.sameKey) {
					shared++
				}
			}
			if all := len(o.Members) + len(g.Set.Members) - shared; shared > 0 && o.need+g.need <= all {
				err = Refuse("NewQuorum", "%q is in use on %d servers, and here on %d: both could be held. Change the servers one at a time", o.name, len(g.Set.Members), len(o.Members))
			}
			return err == nil
		})
	}
	return err
}

// vote asks all members at once. It reports true as soon as a majority was granted, and false as
// soon as that is impossible or the wait ends.
func (g *group) vote(limited context.Context) bool {
	for i := range g.Set.Members {
		go g.ask(i)
	}
	return g.await(limited, granted, held)
}

// ask asks for one member, and once more if its link has moved meanwhile.
func (g *group) ask(i int) {
	joined, err := false, errors.New("the observer ended its goroutine")
	defer func() {
		if !joined {
			g.miss(i, err)
		}
	}()
	if joined, err = g.join(i); errors.Is(err, errMoved) {
		joined, err = g.join(i)
	}
}

// join takes a member in if it is granted. For how long its server does not count is asked after the grant, so
// that a restart between the two shows. What a quarantined server grants is kept for a majority
// that others make: then nobody else has one that it could have forgotten.
func (g *group) join(i int) (joined bool, err error) {
	m := g.Set.Members[i]
	_, before := m.runID()
	h, err := m.Ref.Acquire(g.under, &g.each[i])
	if err != nil {
		return false, err
	}
	var quarantine time.Duration
	err = g.inside(i, func() (err error) {
		quarantine, err = m.quarantine(g.under)
		return err
	})
	if err == nil {
		err = cmp.Or(m.moved(before), g.oneServer(i))
	}
	if quarantine > 0 && m.reenters(h) {
		quarantine = 0
	}
	if joined = err == nil && g.add(i, h, quarantine); !joined {
		if _ = h.Unlock(g.under); g.under.Err() != nil {
			err = lockerr.ErrReleased // its server was not asked to the end, which is no failure
		}
	}
	return joined, err
}

// reenters says that the owner of a member holds a quorum that the member is part of. Nobody else
// has a majority then, whatever the member's server may have forgotten.
func (m Member) reenters(h *lock.Hold) (found bool) {
	mine := h.Holding(m.Ref.Key())
	m.quorums.Range(func(live, _ any) bool {
		outer := live.(*group)
		outer.mu.Lock()
		formed := outer.formed
		outer.mu.Unlock()
		found = formed && outer.Holding(m.Ref.Key()) == mine && outer.Valid()
		return !found
	})
	return found
}

// verdict releases what was taken for a majority that was not won, and says why it was not. A
// moment is left to those that were told to stop. They have not failed, but may be held.
func (g *group) verdict() error {
	if err := g.releaseAttempt(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(context.Background(), 4*lock.Grace)
	defer cancel()
	g.wait(limited, func() bool { return g.count(asked) == 0 })
	g.mu.Lock()
	defer g.mu.Unlock()
	var refused, unasked, failed, stopped []error
	open := 0 // members that may be held
	for i, e := range g.entries {
		unknown := e.state == asked || errors.Is(e.why, lockerr.ErrUnknownOutcome)
		if unknown {
			open++
		}
		switch m := g.Set.Members[i]; {
		case e.state == asked:
			stopped = append(stopped, fmt.Errorf("redlatch: lock %q on %s: %w: no answer yet", m.Ref.Name, m.where(), lockerr.ErrUnknownOutcome))
		case e.quarantine > 0:
			refused = append(refused, fmt.Errorf("%s was restarted and counts in %v", m.where(), e.quarantine))
		case e.late && unknown:
			stopped = append(stopped, pause.NotOfCaller(m.at(e.why))) // its context is the group's
		case errors.Is(e.why, lockerr.ErrNotAcquired) && e.late: // perhaps before it was asked: then it names no holder
			unasked = append(unasked, m.at(e.why))
		case errors.Is(e.why, lockerr.ErrNotAcquired):
			refused = append(refused, m.at(e.why))
		case e.why == lockerr.ErrReleased: // it was granted, and released while it was confirmed: no failure
		case e.why != nil:
			failed = append(failed, pause.NotOfCaller(m.at(e.why)))
		}
	}
	refused = append(refused, unasked...)
	all := len(g.entries)
	switch {
	case max(len(failed), open) > all-g.need:
		return g.failed(fmt.Errorf("a majority of %d servers could not be asked: %w", all, errors.Join(append(failed, stopped...)...)))
	case len(refused) > 0:
		return g.failed(fmt.Errorf("%w: %d of %d refused, among them: %v", lockerr.ErrNotAcquired, len(refused), all, refused[0]))
	}
	return g.failed(lockerr.ErrNotAcquired)
}
