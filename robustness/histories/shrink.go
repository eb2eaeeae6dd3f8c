package histories

import (
	"cmp"
	"slices"
	"time"
)

// shrink returns a shorter history that is impossible as well: no longer than up to the first answer
// that is wrong, and without refusals and looks that do not matter. Every step keeps a possible history
// possible. Grants stay, because later answers may depend on them.
func shrink(operations []Operation, wrong func([]Operation) bool) []Operation {
	ends := slices.SortedFunc(slices.Values(operations), func(a, b Operation) int { return cmp.Compare(a.Return, b.Return) })
	n, _ := slices.BinarySearchFunc(ends, true, func(o Operation, _ bool) int {
		if wrong(before(operations, o.Return)) {
			return 0
		}
		return -1
	})
	if n < len(ends) {
		operations = before(operations, ends[n].Return)
	}
	for i := 0; i < len(operations); i++ {
		if o := operations[i]; o.Verb == Look || o.Refused {
			if less := slices.Delete(slices.Clone(operations), i, i+1); wrong(less) {
				operations, i = less, i-1
			}
		}
	}
	return operations
}

// before is what was known of a history at a moment.
func before(operations []Operation, moment time.Duration) (known []Operation) {
	for _, o := range operations {
		switch {
		case o.Return <= moment:
			known = append(known, o)
		case o.Call > moment || o.Verb == Look || o.Refused:
		default:
			o.Unknown, o.Return = true, o.Call
			known = append(known, o)
		}
	}
	slices.SortFunc(known, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	return known
}
