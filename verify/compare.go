package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// excludes says that two holds must not be relied on at one moment.
func (h *hold) excludes(other *hold) bool {
	return h.owner != other.owner && !(h.shared && other.shared)
}

// passed says that somebody else may have the lock of a hold by now, with its token: its owner has made a ticket. The end
// of the hold may be missing.
func (r *lockRecord) passed(h *hold) bool { return h.how == "" || r.detached[place{h.owner, h.token}] }

// passedOn is the order of two holds with one token. If both went on, it is not known.
func (r *lockRecord) passedOn(a, b *hold) (first, heir *hold, sure bool) {
	if !r.passed(a) {
		a, b = b, a
	}
	return a, b, !r.passed(b)
}

// byTokens compares the holds that have tokens with those before them. What two clocks are to decide is added to
// their link.
func (r *lockRecord) byTokens(links map[[2]string]*link, most time.Duration) (found []Finding) {
	fenced := slices.DeleteFunc(slices.Clone(r.holds), func(h *hold) bool { return h.token <= 0 })
	slices.SortStableFunc(fenced, func(a, b *hold) int {
		return cmp.Or(cmp.Compare(a.token, b.token), a.from.Compare(b.from))
	})
	var all, writers []int // of those before
	for i, next := range fenced {
		before := all
		if next.shared {
			before = writers // readers exclude no readers, of which there may be very many
		}
		for _, j := range slices.Backward(before) {
			last := fenced[j]
			early := next.from.Before(last.to.Add(-slack))
			switch one, apart := last.token == next.token, last.clock != next.clock; {
			case !last.excludes(next):
			case one && apart && (r.passed(last) || r.passed(next)):
				if first, heir, sure := r.passedOn(last, next); sure {
					between(links, first, heir, most).add(first, heir)
				}
			case one && (apart || !early && !r.passed(last)):
				found = append(found, Finding{"token back", r.name, next.from, 0, fmt.Sprintf("%v and %v have one token, %d", last, next, next.token)})
			case apart:
				between(links, last, next, most).add(last, next)
			case early && last.from.Before(next.to):
				found = append(found, overlap(last, next, last.to.Sub(next.from)))
			case early:
				found = append(found, Finding{"token back", r.name, last.from, 0, fmt.Sprintf("%v has token %d, and came after %v with token %d", last, last.token, next, next.token)})
			}
			if !last.shared && (j == 0 || fenced[j-1].token < last.token) { // whatever came before it ended before it
				break
			}
		}
		if all = append(all, i); !next.shared {
			writers = append(writers, i)
		}
	}
	return found
}

// byTimes compares those pairs of which one has no token.
func (r *lockRecord) byTimes(links map[[2]string]*link, most time.Duration) (found []Finding, undecided int) {
	if !slices.ContainsFunc(r.holds, func(h *hold) bool { return h.token <= 0 }) {
		return nil, 0
	}
	of := make(map[string][]*hold)
	for _, h := range r.holds {
		of[h.clock] = append(of[h.clock], h)
	}
	clocks := slices.Sorted(maps.Keys(of))
	for i, one := range clocks {
		for _, other := range clocks[i:] {
			all, reach := inOneTime(of[one], of[other], links[pair(one, other)], most)
			more, open := compare(all, reach, one == other)
			found, undecided = append(found, more...), undecided+open
		}
	}
	return found, undecided
}

// placed is a hold in the time of the second of two clocks, which is low to high after that of the first.
type placed struct {
	*hold
	low, high time.Duration
	from, to  time.Time // in the middle
}

// inOneTime places the holds of two clocks in the order of their beginnings, each wrong by reach at most.
func inOneTime(first, second []*hold, l *link, most time.Duration) (all []placed, reach time.Duration) {
	for _, h := range second {
		all = append(all, placed{h, 0, 0, h.from, h.to})
	}
	for _, h := range first {
		low, high := -cmp.Or(most, unbounded), cmp.Or(most, unbounded)
		if h.clock == second[0].clock {
			break
		} else if l != nil {
			low, high = l.span(h.from)
		}
		shift := time.Duration(0)
		if high-low < unbounded {
			shift, reach = (low+high)/2, max(reach, (high-low)/2+1)
		}
		all = append(all, placed{h, low, high, h.from.Add(shift), h.to.Add(shift)})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.from.Compare(b.from) })
	return all, reach
}

// compare compares the holds of two clocks, or of one.
func compare(all []placed, reach time.Duration, same bool) (found []Finding, undecided int) {
	for i, a := range all {
		for _, b := range all[i+1:] {
			if b.from.Sub(a.to) > reach {
				break
			}
			if (a.clock == b.clock) != same || !a.excludes(b.hold) || a.token > 0 && b.token > 0 {
				continue
			}
			first, second := a, b
			if b.clock < a.clock {
				first, second = b, a
			}
			least, sure := overlapOf(first.hold, second.hold, first.low, first.high)
			switch {
			case least > slack:
				found = append(found, overlap(a.hold, b.hold, least))
			case !sure:
				undecided++
			}
		}
	}
	return found, undecided
}

// overlapOf is for how long two holds overlap at least, and whether it is sure that they do or do not. The clock of b is
// low to high ahead of that of a.
func overlapOf(a, b *hold, low, high time.Duration) (least time.Duration, sure bool) {
	// At a difference x, a was relied on from a.from+x to a.to+x by b's clock.
	at := func(x time.Duration) time.Duration {
		from, to := later(a.from.Add(x), b.from), a.to.Add(x)
		if b.to.Before(to) {
			to = b.to
		}
		return to.Sub(from)
	}
	least = min(at(low), at(high)) // it has no minimum in between
	possible := least
	for _, x := range []time.Duration{low, high, min(max(b.from.Sub(a.from), low), high), min(max(b.to.Sub(a.to), low), high)} {
		possible = max(possible, at(x))
	}
	return least, least > slack || possible <= slack
}

// overlap is a finding about two holds that exclude each other.
func overlap(first, second *hold, by time.Duration) Finding {
	by = by.Truncate(time.Millisecond)
	return Finding{"overlap", first.lock, second.from, by, fmt.Sprintf("%v was relied on for %v or more beside %v", first, by, second)}
}

func (h *hold) String() string {
	how := h.how
	if how == "" {
		how = "seen last"
	}
	return fmt.Sprintf("the hold of %s on %s (%s to %s, %s)", h.owner, h.clock, h.from.Format(timeFormat), h.to.Format(timeFormat), how)
}

const timeFormat = "15:04:05.000"
