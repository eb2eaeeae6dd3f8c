package redlatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
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
		err = g.twin(i)
	}
	if young > 0 && g.reenters(h) {
		young = 0
	}
	if err != nil || !g.add(i, h, young) {
		_ = h.Unlock(context.Background())
		g.miss(i, err)
	}
}

// twin is the error of a member that is on one run of a server with another. Each asks after its
// own run is known, so that at most one of the two is taken in.
func (g *group) twin(i int) error {
	for j, other := range g.parts {
		if j != i && other.seenTogether(g.parts[i]) {
			return sameRun(other, g.parts[i])
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
// not. A moment is left to those that were told to stop.
func (g *group) verdict(ctx context.Context) error {
	if err := g.rollback(); err != nil {
		return withCause(err, ctx)
	}
	limited, cancel := context.WithTimeout(context.Background(), 4*grace)
	defer cancel()
	g.watch(limited, func() bool { return g.count(asked) == 0 })
	refused, failed := g.results()
	if len(failed) > len(g.parts)-g.need {
		return withCause(fmt.Errorf("redlatch: quorum %q: a majority of %d servers could not be asked: %w", g.name, len(g.parts), errors.Join(failed...)), ctx)
	}
	err := fmt.Errorf("redlatch: quorum %q: %w", g.name, ErrNotAcquired)
	if len(refused) > 0 {
		err = fmt.Errorf("%w: %d of %d refused, among them: %v", err, len(refused), len(g.parts), refused[0])
	}
	return withCause(err, ctx)
}

// results are why members were refused, and why others could not be asked.
func (g *group) results() (refused, failed []error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, s := range g.seats {
		name, where := g.parts[i].point.name, g.parts[i].where()
		switch {
		case s.state == asked:
			failed = append(failed, fmt.Errorf("redlatch: lock %q on %s: %w: no answer yet", name, where, ErrUnknownOutcome))
		case s.young > 0:
			refused = append(refused, fmt.Errorf("%s was restarted and counts in %v", where, s.young))
		case errors.Is(s.why, ErrNotAcquired):
			refused = append(refused, s.why)
		case s.why != nil:
			failed = append(failed, s.why)
		}
	}
	return refused, failed
}

// birth is since when, at the latest, one run of a server is known.
type birth struct {
	mu    sync.Mutex
	run   string
	since time.Time
}

// age is for how long a run has been known at least.
func (b *birth) age(run string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if run == "" {
		return 0
	}
	if b.run != run {
		b.run, b.since = run, now
	}
	return now.Sub(b.since)
}

// seenTogether says that two members were last seen on one run of a server.
func (m member) seenTogether(other member) bool {
	a, b := &m.client.birth, &other.client.birth
	return a.last() != "" && a.last() == b.last()
}

func (b *birth) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.run
}

// young asks a member's server for how much longer it does not count, because it may have been
// restarted under a hold that is still valid.
//
// The server counts its uptime by its own wall clock, which may have been wrong. What this
// client has seen of the same run is an age as well, by its monotonic clock.
func (m member) young(ctx context.Context) (time.Duration, error) {
	delay := m.client.config.RestartDelay
	if delay < 0 || m.embedded() {
		return 0, nil
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
	age := m.client.birth.age(infoField(reply.Str, "run_id"), asked)
	return max(delay-max(uptime, age), 0), nil
}

// infoField is one field of the reply to INFO, "" if it is not there.
func infoField(info, name string) string {
	_, rest, _ := strings.Cut(info, name+":")
	text, _, _ := strings.Cut(rest, "\r")
	return strings.TrimSpace(text)
}
