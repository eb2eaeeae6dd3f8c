package blocked

import "slices"

// certain finds one certain cycle in each strongly connected part of the waits that were confirmed.
//
// A wait went on from Since to Confirmed, at least, and its holds were there all that time. So the waits of a
// cycle were a deadlock if the latest Since is not after the earliest Confirmed. Between these moments each
// waited for a lock that the next one held. Waits that are read together need not have gone on together: a
// client removes a wait that was given up only with its next heartbeat.
func certain(edges []Edge) (all [][]Edge) {
	edges = slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return e.Confirmed.IsZero() })
	parts := newNetwork(edges, knownHolds, heldBy).parts()
	partOf := make(map[string]int)
	for i, part := range parts {
		for _, node := range part {
			partOf[node] = i
		}
	}
	inside := make([][]Edge, len(parts))
	for _, e := range edges {
		part := partOf[heldBy(e)]
		if slices.ContainsFunc(knownHolds(e), func(owner string) bool { return partOf[owner] == part }) {
			inside[part] = append(inside[part], e)
		}
	}
	left := maxVisits
	for _, own := range inside {
		if cycle := overlapping(own, &left); cycle != nil {
			all = append(all, cycle)
		}
	}
	slices.SortStableFunc(all, compareCycles)
	return all
}

// maxVisits bounds the time of certain: so many times it looks at a wait again. Anybody may have
// written a part in which each wait was confirmed at another moment. Its cycles are then only possible.
const maxVisits = 200_000

// overlapping finds a cycle whose waits all went on at one moment; nil if there is none. It begins at the
// earliest Confirmed. All waits that had begun by then went on at that moment, so it looks for a cycle among
// them. If there is none, the waits with that Confirmed are in no such cycle. It then goes on without them.
func overlapping(edges []Edge, left *int) []Edge {
	slices.SortStableFunc(edges, func(a, b Edge) int { return a.Confirmed.Compare(b.Confirmed) })
	for len(edges) > 0 && *left > 0 {
		*left -= len(edges)
		at := edges[0].Confirmed
		begun := slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return e.Since.After(at) })
		if cycles := cyclesIn(begun, knownHolds, heldBy); len(cycles) > 0 {
			return cycles[0]
		}
		later := slices.IndexFunc(edges, func(e Edge) bool { return e.Confirmed.After(at) })
		if later < 0 {
			break
		}
		edges = edges[later:]
	}
	return nil
}

// knownHolds are the owners that the waiter of e is known to be, and whose holds it has while it waits.
func knownHolds(e Edge) []string { return append([]string{e.Waiter.Owner}, e.Under...) }

func heldBy(e Edge) string { return e.Holder.Owner }
