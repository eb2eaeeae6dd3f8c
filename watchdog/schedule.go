package watchdog

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// schedule knows the stalled clients, and when each is to be visited next. Every watchdog visits a
// new one at once, whoever serves it: time is shortest when a pause has just begun, and a second
// renewal does no harm. It is safe for concurrent use.
type schedule struct {
	mu      sync.Mutex
	records map[string]record
	idle    int                      // records of the kind idle
	mine    func(client string) bool // this watchdog serves it
}

// kind is what the last visit to a client has found.
type kind int

const (
	fresh   kind = iota // no visit has ended yet
	holding             // leases that it extended
	failed              // an error, and no lease that it extended
	idle                // nothing to renew
)

// record is what is remembered of a client.
type record struct {
	script.Stalled
	kind     kind
	last     time.Time     // when it was visited; found stalled, if it is fresh
	lease    time.Duration // its shortest lease then; 0 if it is fresh or the visit failed
	mine     bool          // this watchdog serves it
	underWay bool          // it is being visited
	told     bool          // the log has said that this watchdog serves it
	warned   bool          // the log has said that some of its holds are not renewed
}

// The bounds of what is remembered. A client that finds no place is found again by a later look.
const (
	maxKnown = 50_000
	maxIdle  = maxKnown / 2
)

// at is when the next visit is due. The watchdog that serves the client visits it every quarter
// of its lease. All others visit it every half, in case the first one fails. After a failed
// visit the next one is due soon.
func (r record) at() time.Time {
	switch {
	case r.kind == fresh:
		return r.last
	case r.lease == 0:
		return r.last.Add(minLease / 4)
	case r.mine:
		return r.last.Add(r.lease / 4)
	}
	return r.last.Add(r.lease / 2)
}

// appointment is a visit that is due.
type appointment struct {
	script.Stalled
	mine bool // this watchdog serves the client
	due  time.Time
}

// plan is what is to be done now.
type plan struct {
	visits  []appointment // in order
	late    time.Duration // how long the first of all visits to clients that may hold a lock is overdue
	serving int           // known clients that this watchdog serves
}

// plan plans at most budget visits. Half of them go to clients with live leases, those that this
// watchdog serves first. New clients and failed visits have a quarter each. What one kind does not
// need the others get. Idle clients, which hold nothing, get a twentieth at most, of what is left.
// So no number of clients of one kind delays those of another.
func (s *schedule) plan(now time.Time, budget int) plan {
	due, p := s.due(now)
	for _, kind := range [...]kind{fresh, holding} {
		for _, a := range due[kind] {
			p.late = max(p.late, now.Sub(a.due))
		}
	}
	for kind := range due {
		slices.SortFunc(due[kind], func(a, b appointment) int {
			return cmp.Or(first(a.mine && kind == int(holding), b.mine && kind == int(holding)), a.due.Compare(b.due), a.Due.Compare(b.Due))
		})
	}
	// Among the new ones, those overdue for longest and for the shortest time alternate. So invented
	// clients, old or new, do not delay all others.
	half := len(due[fresh]) / 2
	slices.Reverse(due[fresh][half:])
	rest := alternate(alternate(due[fresh][:half:half], due[fresh][half:]), due[failed])
	p.visits = cut(alternate(due[holding], rest), budget)
	p.visits = append(p.visits, cut(due[idle], min(budget-len(p.visits), max(budget/20, 1)))...)
	return p
}

// due returns the visits that are due, by kind.
func (s *schedule) due(now time.Time) (due [4][]appointment, p plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		if r.mine {
			p.serving++
		}
		if at := r.at(); !r.underWay && !at.After(now) {
			due[r.kind] = append(due[r.kind], appointment{r.Stalled, r.mine, at})
		}
	}
	return due, p
}

// assign changes which clients this watchdog serves.
func (s *schedule) assign(mine func(client string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine = mine
	for client, r := range s.records {
		r.mine = mine(client)
		s.records[client] = r
	}
}

// first orders what is true before what is false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// cut is the beginning of a list.
func cut(all []appointment, n int) []appointment { return all[:min(len(all), max(n, 0))] }

// alternate takes from one list and the other in turn.
func alternate(a, b []appointment) []appointment {
	both := make([]appointment, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		both = append(both, a[0], b[0])
		a, b = a[1:], b[1:]
	}
	return append(append(both, a...), b...)
}

// unknown returns those of some stalled clients that are not known yet. One that is known, and has
// run since, is fresh again.
func (s *schedule) unknown(some []script.Stalled, now time.Time) (unknown []script.Stalled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range some {
		r, known := s.records[one.Client]
		switch {
		case !known:
			unknown = append(unknown, one)
		case r.Score != one.Score && !r.underWay:
			s.set(one.Client, record{Stalled: one, last: now, mine: r.mine, told: r.told, warned: r.warned})
		}
	}
	return unknown
}

// add adds new clients, as many as there is place for.
func (s *schedule) add(some []script.Stalled, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range some {
		if _, known := s.records[one.Client]; !known && len(s.records) < maxKnown {
			s.records[one.Client] = record{Stalled: one, last: now, mine: s.mine(one.Client)}
		}
	}
}

// retain forgets the clients that are not stalled any more, and returns those of them of which the log
// has said that this watchdog serves them. If not all stalled clients were found, only the known ones
// that were asked for are forgotten.
func (s *schedule) retain(f found, known []string) (back []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := f.there
	if f.whole {
		there = make(map[string]script.Stalled)
		for _, one := range f.Clients {
			there[one.Client] = one
		}
		known = slices.Collect(maps.Keys(s.records))
	}
	for _, client := range known {
		r := s.records[client]
		if _, is := there[client]; is || r.underWay {
			continue
		}
		s.drop(client)
		if r.told {
			back = append(back, client)
		}
	}
	return back
}

// set sets the record of a client. The mutex is held.
func (s *schedule) set(client string, r record) {
	s.drop(client)
	if r.kind == idle {
		if s.idle == maxIdle {
			return
		}
		s.idle++
	}
	s.records[client] = r
}

// change changes what is remembered of a client.
func (s *schedule) change(client string, change func(r *record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[client]
	change(&r)
	s.set(client, r)
}

// forget forgets a client.
func (s *schedule) forget(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(client)
}

// drop is forget. The mutex is held.
func (s *schedule) drop(client string) {
	if s.records[client].kind == idle {
		s.idle--
	}
	delete(s.records, client)
}
