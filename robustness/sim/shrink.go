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
	attempt := func(smaller Plan) bool {
		if tries--; tries < 0 || least.Violation == "" {
			return false
		}
		r := Run(t, smaller)
		if !alike(r.Violation, least.Violation) {
			return false
		}
		plan, least = smaller, r
		return true
	}
	for before := -1; before != plan.size() && tries > 0; {
		before = plan.size()
		for size := len(plan.Faults); size > 0; size /= 2 {
			for i := 0; i+size <= len(plan.Faults); {
				if smaller := plan.clone(); !attempt(smaller.withoutFaults(i, size)) {
					i += size
				}
			}
		}
		plan.shrinkActors(attempt, &plan)
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

func (p Plan) withoutFaults(from, n int) Plan {
	p.Faults = slices.Delete(p.Faults, from, from+n)
	return p
}

// shrinkActors drops operations, many at a time at first. Now is the smallest plan so far.
func (p Plan) shrinkActors(attempt func(Plan) bool, now *Plan) {
	for i, process := range p.Actors {
		for j := range process {
			for size := len(process[j]); size > 0; size /= 2 {
				for k := 0; k+size <= len(now.Actors[i][j]); {
					smaller := now.clone()
					smaller.Actors[i][j] = slices.Delete(smaller.Actors[i][j], k, k+size)
					if !attempt(smaller) {
						k += size
					}
				}
			}
		}
	}
}

// size is how much is to happen.
func (p Plan) size() int {
	n := len(p.Faults)
	for _, process := range p.Actors {
		for _, ops := range process {
			n += len(ops)
		}
	}
	return n
}

// clone is a plan that shares no list with this one.
func (p Plan) clone() Plan {
	p.Faults = slices.Clone(p.Faults)
	actors := make([][][]op, len(p.Actors))
	for i, process := range p.Actors {
		for _, ops := range process {
			actors[i] = append(actors[i], slices.Clone(ops))
		}
	}
	p.Actors = actors
	return p
}
