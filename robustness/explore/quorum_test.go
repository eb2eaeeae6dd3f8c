package explore

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

func exploringQuorum(t *testing.T, bound Bound, change func(q *quorum), mutations ...Mutation) Result {
	t.Helper()
	q, err := newQuorum(mutations...)
	if err != nil {
		t.Fatal(err)
	}
	defer q.world.redis.mini.Close()
	change(q)
	r := explore[moment](q, bound)
	r.Kind, r.Scripts = "Quorum of three, two clients", len(q.world.redis.outcomes)
	return r
}

// Goal: two clients never hold the same Quorum of three. Method: everything that may happen, up to a
// depth: lost and late requests, and servers that restart empty, one at a time.
func TestEveryInterleavingOfAQuorumKeepsThePromises(t *testing.T) {
	t.Parallel()
	depth := 7
	if underRace || testing.Short() {
		depth -= 2
	}
	bound := Bound{Depth: depth, States: 20_000_000, Until: time.Now().Add(time.Hour)}
	if times := redistest.Stretch(1); times > 1 {
		bound.Depth, bound.States = 1000, 500_000*times
	}
	r := exploringQuorum(t, bound, func(*quorum) {})
	if t.Log(r); r.Violation != nil {
		t.Fatal(r.Violation)
	}
	if r.Depth < depth && !r.Whole {
		t.Errorf("depth %d was not completed", depth)
	}
}

// Goal: the exploration of a Quorum can fail. Method: without a rule, or with a script that is wrong, it
// finds a violation.
func TestDefectsOfAQuorumAreFound(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(q *quorum){
		"one server of three is a majority":   func(q *quorum) { q.need = 1 },
		"a restarted server counts at once":   func(q *quorum) { q.delay = 0 },
		"a restarted server counts too early": func(q *quorum) { q.delay = quorumLease / 2 },
	} {
		r := exploringQuorum(t, Bound{Depth: 9, States: 2_000_000, Until: time.Now().Add(time.Hour)}, change)
		if t.Log(what, r); r.Violation == nil {
			t.Errorf("%s: was not found", what)
		} else {
			t.Log(r.Violation)
		}
	}
	for _, m := range mutations[:2] {
		r := exploringQuorum(t, Bound{Depth: 9, States: 2_000_000, Until: time.Now().Add(time.Hour)}, func(*quorum) {}, m.Mutation)
		if t.Log(m.what, r); r.Violation == nil && m.what != "a release tells nobody" {
			t.Errorf("%s: was not found", m.what)
		}
	}
}
