package sim

import "testing"

// find runs seeds of a theme, and reports the first that fails.
func find(t *testing.T, theme string, seed uint64, seeds int) {
	t.Helper()
	for ; seeds > 0; seed++ {
		if plan := planFor(seed); plan.Theme == theme {
			if r := Run(t, plan); r.Violation != "" {
				t.Fatalf("seed %d, %s: %s", seed, theme, r.Violation)
			}
			seeds--
		}
	}
}

// Goal: slots that move break no promise. Method: seeds that find what
// robustness/mutants breaks.
func TestLongSlotsThatMoveBreakNoPromise(t *testing.T) {
	find(t, "cluster", 0, 3)
	find(t, "cluster", 700, 3)
}

// Goal: a replica that takes over has what replicas confirmed, and who loses a hold is told. Method: seeds
// that find what robustness/mutants breaks.
func TestLongReplicasThatTakeOverBreakNoPromise(t *testing.T) { find(t, "replicas", 570, 8) }
