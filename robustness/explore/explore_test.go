package explore

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Goal: nothing that may happen breaks a promise. Method: everything that may happen, up to a
// depth; REDLATCH_STRETCH times half a million states if that is set; three moves less under the
// race detector, which has little to see: a search has one goroutine.
func TestEveryInterleavingKeepsThePromises(t *testing.T) {
	t.Parallel()
	for _, one := range worlds {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			inTheDepth(t, one.depth, 3, func(bound Bound) Result { return exploring(t, one.name, bound) })
		})
	}
}

// inTheDepth searches to a depth, and so many moves less under the race detector.
func inTheDepth(t *testing.T, depth, less int, search func(Bound) Result) {
	t.Helper()
	bound := Bound{Depth: depth, States: 20_000_000, Until: time.Now().Add(time.Hour)}
	if underRace || testing.Short() {
		depth -= less
		bound.Depth = depth
	} else if times := redistest.Stretch(1); times > 1 {
		bound.Depth, bound.States = 1000, 500_000*times
	}
	r := search(bound)
	if t.Log(r); r.Violation != nil {
		t.Fatal(r.Violation)
	}
	if r.Depth < depth && !r.Whole {
		t.Errorf("depth %d was not completed", depth)
	}
}

func exploring(t *testing.T, name string, bound Bound, mutations ...mutation.Mutation) Result {
	t.Helper()
	w := newWorld(name, mutations...)
	defer w.redis.mini.Close()
	r := w.explore(bound)
	if n := len(mutations); n > 0 && !w.redis.mutated[mutations[n-1]] {
		t.Fatalf("script %s has no %q, or was not run", mutations[n-1].Script, mutations[n-1].Old)
	}
	return r
}
