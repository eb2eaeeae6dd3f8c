package watchdog

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// schedule knows when each stalled client is to be visited next. Who is not in it has never
// been visited, and is to be at once, whoever's it is: right after a pause has begun is when
// there is the least time to lose, and to renew twice is no harm. It is safe for concurrent
// use.
type schedule struct {
	mu    sync.Mutex
	turns map[string]turn
}

// turn is what is remembered of a client.
type turn struct {
	last     time.Time     // when it was visited
	lease    time.Duration // its shortest then; 0 if that failed: then all visit it again soon
	underWay bool          // it is being visited
	told     bool          // the log has said that this watchdog serves it
	warned   bool          // the log has said that something of it is not renewed
	seen     time.Time     // when it was found stalled
}

// at is when the next visit is due. The one who serves the client comes every quarter of
// its lease. All others come every half: it is theirs, too, if the first one fails at it.
func (t turn) at(mine bool) time.Time {
	if t.lease == 0 {
		return t.last.Add(leastLease / 4)
	}
	if mine {
		return t.last.Add(t.lease / 4)
	}
	return t.last.Add(t.lease / 2)
}

// ripe returns those that are to be visited now: those who never were, and the others by their
// time, in turn. So neither keeps the other waiting. Of those who never were, the one overdue
// for longest and the one overdue for the shortest take turns: neither old names nor new ones,
// which anybody may invent, keep all others waiting.
func (s *schedule) ripe(all []script.Stalled, now time.Time, mine func(client string) bool) []script.Stalled {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh, known []script.Stalled
	due := make(map[string]time.Time)
	for _, one := range all {
		t, visited := s.turns[one.Client]
		switch {
		case !visited:
			fresh = append(fresh, one)
			continue
		case !t.underWay && !t.at(mine(one.Client)).After(now):
			known = append(known, one)
			due[one.Client] = t.at(mine(one.Client))
		}
		t.seen = now
		s.turns[one.Client] = t
	}
	slices.SortStableFunc(fresh, func(a, b script.Stalled) int { return a.Due.Compare(b.Due) })
	slices.SortStableFunc(known, func(a, b script.Stalled) int {
		return cmp.Or(due[a.Client].Compare(due[b.Client]), a.Due.Compare(b.Due))
	})
	half := len(fresh) / 2
	slices.Reverse(fresh[half:])
	return inTurn(inTurn(fresh[:half:half], fresh[half:]), known)
}

// inTurn takes from one and the other.
func inTurn(a, b []script.Stalled) []script.Stalled {
	both := make([]script.Stalled, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		both = append(both, a[0], b[0])
		a, b = a[1:], b[1:]
	}
	return append(append(both, a...), b...)
}

// begin says that a client is being visited.
func (s *schedule) begin(client string) { s.change(client, func(t *turn) { t.underWay = true }) }

// change changes what is remembered of a client.
func (s *schedule) change(client string, change func(t *turn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turns[client]
	change(&t)
	s.turns[client] = t
}

// forget forgets a client.
func (s *schedule) forget(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, client)
}

// outOfSight is after how long one who was not found stalled again is forgotten, where a
// look does not see all.
const outOfSight = 30 * time.Second

// retain forgets those that are stalled no longer, and returns the ones among them that
// this watchdog has served. Whole says that all of the stalled are there.
func (s *schedule) retain(all []script.Stalled, whole bool, now time.Time) (back []string) {
	still := make(map[string]bool, len(all))
	for _, one := range all {
		still[one.Client] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for client, t := range s.turns {
		if t.underWay || still[client] || !whole && now.Sub(t.seen) < outOfSight {
			continue
		}
		delete(s.turns, client)
		if t.told {
			back = append(back, client)
		}
	}
	return back
}
