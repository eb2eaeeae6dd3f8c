package redlatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// poll asks all members at once. It reports true as soon as a majority was granted, and false
// as soon as that is impossible or the wait ends.
func (g *group) poll(limited context.Context) bool {
	for i := range g.parts {
		g.send(i, func() { g.ask(i) })
	}
	return g.await(limited, granted, held)
}

// ask asks for one member. For how long its server does not count is asked after the grant, so
// that a restart between the two shows. What a server grants that does not count yet is kept for
// a majority that others make: then nobody else has one that it could have forgotten.
func (g *group) ask(i int) {
	part := g.parts[i]
	h, err := part.client.acquireOn(g.under, part.point, g.wants[i])
	if err != nil {
		g.miss(i, err)
		return
	}
	young, err := part.young(g.under)
	if err == nil {
		err = g.oneServer(i)
	}
	if young > 0 && g.reenters(h) {
		young = 0
	}
	if err != nil || !g.add(i, h, young) {
		_ = h.Unlock(context.Background())
		g.miss(i, err)
	}
}

// oneServer is the error of a member that was last seen on the same run of a server as another. It
// is asked after the member's own run is known, so at most one of the two is taken in.
func (o order) oneServer(i int) error {
	one := o.parts[i].client.birth.Load()
	for j, other := range o.parts {
		if b := other.client.birth.Load(); j != i && one != nil && b != nil && b.run == one.run {
			return refuse("NewQuorum", "%s and %s are one server", other.where(), o.parts[i].where())
		}
	}
	return nil
}

// reenters says that the owner of a member holds a quorum that the member is part of. Nobody else
// has a majority then, whatever the member's server may have forgotten.
func (g *group) reenters(h *Hold) (found bool) {
	t := h.tenure()
	t.client.quorums.Range(func(live, _ any) bool {
		outer := live.(*group)
		outer.mu.Lock()
		formed := outer.formed
		outer.mu.Unlock()
		found = formed && outer.holding(&t.point.held) == t && outer.valid()
		return !found
	})
	return found
}

// verdict gives back what was taken for a majority that was not won, and says why it was
// not. A moment is left to those that were told to stop. They have not failed, but may be held.
func (g *group) verdict() error {
	if err := g.rollback(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(context.Background(), 4*grace)
	defer cancel()
	g.look(limited, func() bool { return g.count(asked) == 0 })
	g.mu.Lock()
	defer g.mu.Unlock()
	var refused, failed, stopped []error
	open := 0 // members that may be held
	for i, s := range g.seats {
		unknown := s.state == asked || errors.Is(s.why, ErrUnknownOutcome)
		if unknown {
			open++
		}
		switch where := g.parts[i].where(); {
		case s.state == asked:
			stopped = append(stopped, fmt.Errorf("redlatch: lock %q on %s: %w: no answer yet", g.parts[i].point.name, where, ErrUnknownOutcome))
		case s.young > 0:
			refused = append(refused, fmt.Errorf("%s was restarted and counts in %v", where, s.young))
		case errors.Is(s.why, ErrNotAcquired):
			refused = append(refused, s.why)
		case s.late && unknown:
			stopped = append(stopped, s.why)
		case s.why != nil:
			failed = append(failed, s.why)
		}
	}
	switch {
	case max(len(failed), open) > len(g.parts)-g.need:
		return fmt.Errorf("redlatch: quorum %q: a majority of %d servers could not be asked: %w", g.name, len(g.parts), errors.Join(append(failed, stopped...)...))
	case len(refused) > 0:
		return fmt.Errorf("redlatch: quorum %q: %w: %d of %d refused, among them: %v", g.name, ErrNotAcquired, len(refused), len(g.parts), refused[0])
	}
	return fmt.Errorf("redlatch: quorum %q: %w", g.name, ErrNotAcquired)
}

// birth is since when, at the latest, one run of a server is known.
type birth struct {
	run   string
	since time.Time
}

// age is for how long a run of the client's server has been known at least.
func (c *Client) age(run string, now time.Time) time.Duration {
	if run == "" {
		return 0
	}
	b := c.birth.Load()
	if b == nil || b.run != run {
		b = &birth{run, now}
		c.birth.Store(b)
	}
	return now.Sub(b.since)
}

// young asks a member's server for how much longer it does not count, because it may have been
// restarted under a hold that is still valid.
//
// The server counts its uptime by its own wall clock, which may have been wrong. What this
// client has seen of the same run is an age as well, by its monotonic clock.
func (m member) young(ctx context.Context) (time.Duration, error) {
	delay := m.client.config.RestartDelay
	if _, embedded := m.client.driver.(driver.Embedded); delay < 0 || embedded {
		return 0, nil // it cannot restart under a hold
	}
	limited, cancel := context.WithTimeout(ctx, m.client.config.CommandTimeout)
	defer cancel()
	asked := time.Now()
	reply := m.client.driver.Do(limited, driver.Command{Words: []string{"INFO", "server"}, Key: m.point.name})
	seconds, err := strconv.ParseInt(infoField(reply.Str, "uptime_in_seconds"), 10, 64)
	var refused *driver.ServerError
	switch {
	case reply.Err != nil && !errors.As(reply.Err, &refused):
		return 0, failure("ask since when its server is up, of", m.point.name, reply.Err)
	case err != nil:
		return 0, fmt.Errorf("redlatch: lock %q: %w: %s does not tell since when it is up (INFO server), which Config.RestartDelay needs: %w",
			m.point.name, ErrUnsupported, m.where(), cmp.Or(reply.Err, err))
	}
	// Both ends of the server's count are cut off to seconds, so it can be one too high.
	uptime := time.Duration(seconds-1) * time.Second
	age := m.client.age(infoField(reply.Str, "run_id"), asked)
	return max(delay-max(uptime, age), 0), nil
}

// infoField is one field of the reply to INFO, "" if it is not there.
func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, name+":")
	text, _, _ := strings.Cut(rest, "\r")
	return strings.TrimSpace(text)
}
