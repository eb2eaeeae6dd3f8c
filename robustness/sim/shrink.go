package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Shrink drops from a plan what is not needed for a violation: faults and operations. It runs the plan as
// often as tries says.
func Shrink(t *testing.T, plan Plan, tries int) (Plan, Result) {
	t.Helper()
	least := Run(t, plan)
	still := func() bool {
		if tries--; tries < 0 || least.Violation == "" {
			return false
		}
		r := Run(t, plan)
		if !alike(r.Violation, least.Violation) {
			return false
		}
		least = r
		return true
	}
	for dropped := true; dropped; {
		dropped = redistest.Drop(&plan.Faults, still)
		for _, process := range plan.Actors {
			for i := range process {
				dropped = redistest.Drop(&process[i], still) || dropped
			}
		}
	}
	return plan, least
}

// alike says that two violations are of one kind: they differ in words with digits, which are names and times.
func alike(a, b string) bool {
	kind := func(violation string) string {
		return strings.Join(slices.DeleteFunc(strings.Fields(violation), func(word string) bool { return strings.ContainsAny(word, "0123456789") }), " ")
	}
	return kind(a) == kind(b)
}
