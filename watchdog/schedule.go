package watchdog

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// schedule knows when each stalled client is to be visited next. A client without a record has
// never been visited. Every watchdog visits it at once, whoever serves it: time is shortest when
// a pause has just begun, and a second renewal does no harm. It is safe for concurrent use.
type schedule struct {
	mu      sync.Mutex
	records map[string]record
}

// record is what is remembered of a client.
type record struct {
	last     time.Time     // when it was visited
	lease    time.Duration // its shortest lease then; 0 if the visit failed
	underWay bool          // it is being visited
	told     bool          // the log has said that this watchdog serves it
	warned   bool          // the log has said that some of its holds are not renewed
	seen     time.Time     // when it was found stalled
}

// at is when the next visit is due. The watchdog that serves the client visits it every quarter
// of its lease. All others visit it every half, in case the first one fails. After a failed
// visit the next one is due soon.
func (r record) at(mine bool) time.Time {
	if r.lease == 0 {
		return r.last.Add(minLease / 4)
	}
	if mine {
		return r.last.Add(r.lease / 4)
	}
	return r.last.Add(r.lease / 2)
}

// due returns the clients that are to be visited now, in order. New clients, which were never
// visited, and known ones alternate, so that neither kind delays the other. Among the new ones,
// those overdue for longest and those overdue for the shortest time alternate. So invented
// names, old or new, do not delay all others.
func (s *schedule) due(all []script.Stalled, now time.Time, mine func(client string) bool) []script.Stalled {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fresh, known []script.Stalled
	due := make(map[string]time.Time)
	for _, one := range all {
		r, visited := s.records[one.Client]
		switch {
		case !visited:
			fresh = append(fresh, one)
			continue
		case !r.underWay && !r.at(mine(one.Client)).After(now):
			known = append(known, one)
			due[one.Client] = r.at(mine(one.Client))
		}
		r.seen = now
		s.records[one.Client] = r
	}
	slices.SortStableFunc(fresh, func(a, b script.Stalled) int { return a.Due.Compare(b.Due) })
	slices.SortStableFunc(known, func(a, b script.Stalled) int {
		return cmp.Or(due[a.Client].Compare(due[b.Client]), a.Due.Compare(b.Due))
	})
	half := len(fresh) / 2
	slices.Reverse(fresh[half:])
	return alternate(alternate(fresh[:half:half], fresh[half:]), known)
}

// alternate takes from one list and the other in turn.
func alternate(a, b []script.Stalled) []script.Stalled {
	both := make([]script.Stalled, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		both = append(both, a[0], b[0])
		a, b = a[1:], b[1:]
	}
	return append(append(both, a...), b...)
}

// change changes what is remembered of a client.
func (s *schedule) change(client string, change func(r *record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[client]
	change(&r)
	s.records[client] = r
}

// forget forgets a client.
func (s *schedule) forget(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, client)
}

// forgetAfter is after how long a client that was not found stalled again is forgotten, if the
// looks do not read all stalled clients.
const forgetAfter = 30 * time.Second

// retain forgets the clients that are not stalled any more, and returns those of them that this
// watchdog has served. Whole says that all has every stalled client.
func (s *schedule) retain(all []script.Stalled, whole bool, now time.Time) (back []string) {
	still := make(map[string]bool, len(all))
	for _, one := range all {
		still[one.Client] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for client, r := range s.records {
		if r.underWay || still[client] || !whole && now.Sub(r.seen) < forgetAfter {
			continue
		}
		delete(s.records, client)
		if r.told {
			back = append(back, client)
		}
	}
	return back
}
