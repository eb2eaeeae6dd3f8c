package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
)

// excludes says that two holds must not be relied on at one moment.
func (h *hold) excludes(other *hold) bool {
	return h.owner != other.owner && !(h.shared && other.shared)
}

// passed says that somebody else may have the hold by now, with its token: by a ticket. Its end may be missing.
func (h *hold) passed() bool { return h.how == "" || h.how == string(redlatch.EventDetached) }

// passedOn is the order of two holds with one token. If both went on, it is not known.
func passedOn(a, b *hold) (first, heir *hold, sure bool) {
	if !a.passed() {
		a, b = b, a
	}
	return a, b, !b.passed()
}

// byTokens compares the holds that have tokens with those before them. What two clocks are to decide is added to
// their link.
func (r *lockRecord) byTokens(links map[[2]string]*link, most time.Duration) (found []Finding) {
	fenced := slices.DeleteFunc(slices.Clone(r.holds), func(h *hold) bool { return h.token <= 0 })
	slices.SortStableFunc(fenced, func(a, b *hold) int {
		return cmp.Or(cmp.Compare(a.token, b.token), a.from.Compare(b.from))
	})
	for i, next := range fenced {
		for j := i - 1; j >= 0; j-- {
			last := fenced[j]
			early := next.from.Before(last.to.Add(-slack))
			switch one, apart := last.token == next.token, last.clock != next.clock; {
			case !last.excludes(next):
			case one && apart && (last.passed() || next.passed()):
				if first, heir, sure := passedOn(last, next); sure {
					between(links, first, heir, most).add(first, heir)
				}
			case one && (apart || !early && !last.passed()):
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
	}
	return found
}

// byTimes compares those pairs of which one has no token.
func (r *lockRecord) byTimes(links map[[2]string]*link, most time.Duration) (found []Finding, undecided int) {
	all := slices.Clone(r.holds)
	slices.SortStableFunc(all, func(a, b *hold) int { return a.from.Compare(b.from) })
	reach := most // by how much two times may be wrong
	for _, l := range links {
		reach = max(reach, l.reach())
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if b.from.Sub(a.to) > reach {
				break
			}
			if !a.excludes(b) || a.token > 0 && b.token > 0 {
				continue
			}
			least, sure := overlapOf(links, a, b, most)
			switch {
			case least > slack:
				found = append(found, overlap(a, b, least))
			case !sure:
				undecided++
			}
		}
	}
	return found, undecided
}

// overlapOf is for how long two holds overlap at least, and whether it is sure that they do or do not.
func overlapOf(links map[[2]string]*link, a, b *hold, most time.Duration) (least time.Duration, sure bool) {
	var low, high time.Duration // what is added to times of a for those of b
	if a.clock != b.clock {
		l, turned := links[pair(a.clock, b.clock)], a.clock > b.clock
		switch {
		case l == nil && most == 0:
			return 0, false
		case l == nil:
			low, high = -most, most
		case turned:
			low, high = l.span(b.from)
			low, high = -high, -low
		default:
			low, high = l.span(a.from)
		}
	}
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
