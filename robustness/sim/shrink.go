package sim

import (
	"slices"
	"strings"
	"testing"
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
		dropped = drop(&plan.Faults, still)
		for _, process := range plan.Actors {
			for i := range process {
				dropped = drop(&process[i], still) || dropped
			}
		}
	}
	return plan, least
}

// drop removes parts of a list, large ones first, where the violation is still there without them. It says
// whether it removed any.
func drop[T any](list *[]T, still func() bool) (dropped bool) {
	for size := len(*list); size > 0; size /= 2 {
		for i := 0; i+size <= len(*list); {
			whole := *list
			if *list = slices.Delete(slices.Clone(whole), i, i+size); still() {
				dropped = true
			} else {
				*list = whole
				i += size
			}
		}
	}
	return dropped
}

// alike says that two violations are of one kind: they differ in words with digits, which are names and times.
func alike(a, b string) bool {
	kind := func(violation string) string {
		return strings.Join(slices.DeleteFunc(strings.Fields(violation), func(word string) bool { return strings.ContainsAny(word, "0123456789") }), " ")
	}
	return kind(a) == kind(b)
}
