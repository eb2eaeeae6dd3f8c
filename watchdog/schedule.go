package watchdog

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// schedule knows when each stalled session is to be served next. Who is not in it has
// never been, and is to be served at once, whoever's it is: right after a pause has begun
// is when there is the least time to lose, and to renew twice is no harm.
type schedule map[string]visit

// visit is the next one to a session.
type visit struct {
	at   time.Time
	mine bool // this watchdog has said in its log that it serves the session
}

// ripe returns those that are to be served now, the most pressing first: those that never
// were, of which the one with the shortest lease is likely the one that has been overdue
// the longest, and then by their time.
func (s schedule) ripe(all []script.Stalled, now time.Time, mine func(client string) bool) []script.Stalled {
	var ripe []script.Stalled
	for _, one := range all {
		next, known := s[one.Client]
		if !known || !next.at.After(now) && mine(one.Client) {
			ripe = append(ripe, one)
		}
	}
	slices.SortStableFunc(ripe, func(a, b script.Stalled) int {
		return cmp.Or(s[a.Client].at.Compare(s[b.Client].at), a.Due.Compare(b.Due))
	})
	return ripe
}

// retain forgets those that are stalled no longer, and returns the ones among them that
// this watchdog has served.
func (s schedule) retain(all []script.Stalled) (back []string) {
	still := make(map[string]bool, len(all))
	for _, one := range all {
		still[one.Client] = true
	}
	for client, visit := range s {
		if still[client] {
			continue
		}
		delete(s, client)
		if visit.mine {
			back = append(back, client)
		}
	}
	return back
}
