package explore

import (
	"strings"
	"testing"
	"time"
)

// findings are violations of the shipped scripts, each with a change that mends it. All other
// searches go on with that change, so as not to find the same again.
var findings = []struct {
	what, kind, world string
	mend              Mutation
}{
	{
		// The renewal was built before a re-entry to read, and is carried out, or repeated,
		// after the end of the write side. It confirms what nothing in Redis lives for.
		"a renewal confirms a read hold of which it does not know", "read-write", "read-write, two clients",
		Mutation{"renew", "    kept[i] = refused and -1 or 1", `    if here == 1 and writer ~= '' and holds == 0 and redis.call('HGET', lock, 'mode') == 'read' then
      refused = true
    end
    kept[i] = refused and -1 or 1`},
	},
	{
		// Who leaves is taken for dead and removed before it leaves, so that nobody is told.
		// The next in turn finds out at its next beat.
		"a waiter that leaves late tells nobody that it was its turn", "fair", "fair mutex, two clients",
		Mutation{"fair_release", "held or not holder and was == owner", "held or not holder and (was == owner or removed > 0)"},
	},
}

// mends are the changes without which a search of a world ends early.
func mends(world string) (all []Mutation) {
	for _, f := range findings {
		if strings.HasPrefix(world, f.kind) {
			all = append(all, f.mend)
		}
	}
	return all
}

// Goal: a finding that has been mended leaves the list. Method: look for it in what is shipped.
func TestFindingsAreStillThere(t *testing.T) {
	t.Parallel()
	if underRace || testing.Short() {
		t.Skip("only the list is at stake: an ordinary run looks")
	}
	for _, f := range findings {
		t.Run(f.what, func(t *testing.T) {
			t.Parallel()
			r := exploring(t, f.world, Bound{Depth: 8, States: 500_000, Until: time.Now().Add(time.Hour)})
			if r.Violation == nil {
				t.Fatalf("it is not found any more: take it out of the list. %v", r)
			}
			t.Log(r.Violation)
		})
	}
}
