package robustness

import (
	"cmp"
	"slices"
	"time"
)

// byLock divides a history by lock, each in the order of the grants.
func byLock(spans []span) map[string][]span {
	locks := make(map[string][]span)
	for _, s := range spans {
		locks[s.lock] = append(locks[s.lock], s)
	}
	for _, ofOne := range locks {
		slices.SortFunc(ofOne, func(a, b span) int { return cmp.Compare(a.granted, b.granted) })
	}
	return locks
}

// overlaps counts the pairs of holds of one lock that were held at one instant.
func overlaps(spans []span) (n int) {
	for _, ofOne := range byLock(spans) {
		var open []span // that began earlier and may not have ended
		for _, s := range ofOne {
			open = slices.DeleteFunc(open, func(earlier span) bool { return earlier.sure <= s.granted })
			if s.sure > s.granted {
				n += len(open)
				open = append(open, s)
			}
		}
	}
	return n
}

// reusedTokens counts the holds whose token is smaller than that of a hold which was granted
// before they asked, or is that of another hold of the lock.
func reusedTokens(spans []span) (n int) {
	for _, granted := range byLock(spans) {
		given := make(map[int64]int)
		for _, s := range granted {
			given[s.token]++
		}
		asked := slices.SortedFunc(slices.Values(granted), func(a, b span) int { return cmp.Compare(a.asked, b.asked) })
		earlier, last := 0, int64(0)
		for _, s := range asked {
			for earlier < len(granted) && granted[earlier].granted < s.asked {
				last = max(last, granted[earlier].token)
				earlier++
			}
			if s.token < last || given[s.token] > 1 {
				n++
			}
		}
	}
	return n
}

// longestGap is the longest time between two moments in which one of the locks was granted
// to nobody.
func longestGap(spans []span, locks []string, from, to time.Duration) (longest time.Duration) {
	grants := byLock(spans)
	for _, lock := range locks {
		last := from
		for _, s := range grants[lock] {
			if s.granted > last && s.granted <= to {
				longest = max(longest, s.granted-last)
				last = s.granted
			}
		}
		longest = max(longest, to-last)
	}
	return longest
}
