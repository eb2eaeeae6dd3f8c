package verify

import (
	"cmp"
	"slices"
	"time"
)

// link is what tokens say about two clocks: by how much the one that is first by name is behind the other.
type link struct {
	clocks  [2]string
	most    time.Duration                       // Checker.Clocks
	sides   [2]side                             // of the difference: it is at most so much; it is at least minus so much
	settled [2]func(at time.Time) time.Duration // what the sides come to, from the first use of span
}

// side are bounds of a difference from one side.
type side []bound

// bound follows from a lock that went from one machine to the other.
type bound struct {
	at          time.Time // by the clock that is first by name
	by          time.Duration
	first, next *hold
}

// drift is by how much two clocks may drift apart: half a millisecond a second.
func drift(d time.Duration) time.Duration { return d.Abs() / 2000 }

func pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

func between(links map[[2]string]*link, a, b *hold, most time.Duration) *link {
	key := pair(a.clock, b.clock)
	if links[key] == nil {
		links[key] = &link{clocks: key, most: most}
	}
	return links[key]
}

// add takes in that one hold ended before the next began.
func (l *link) add(first, next *hold) {
	i, at := 0, first.to
	if first.clock != l.clocks[0] {
		i, at = 1, next.from
	}
	l.sides[i] = append(l.sides[i], bound{at, next.from.Sub(first.to), first, next})
}

// settle finds the bounds that contradict others, takes them out, and leaves the rest in order. Of those that
// contradict each other, the one that contradicts most is taken for the overlap.
func (l *link) settle() (found []Finding) {
	for i := range l.sides {
		slices.SortStableFunc(l.sides[i], func(a, b bound) int { return a.at.Compare(b.at) })
	}
	for {
		var suspects [2][]int
		for i := range l.sides {
			other := l.sides[1-i].tightest()
			for n, b := range l.sides[i] {
				if min(other(b.at), l.limit())+b.by < -slack {
					suspects[i] = append(suspects[i], n)
				}
			}
		}
		i, n := l.worst(suspects)
		if n < 0 {
			return found
		}
		if len(found) == mostFindings { // the rest bounds nothing
			found[mostFindings-1].Text += "; further overlaps between these two machines are left out"
			l.sides = [2]side{}
			return found
		}
		b := l.sides[i][n]
		found = append(found, overlap(b.first, b.next, -b.by-min(l.sides[1-i].tightest()(b.at), l.limit())))
		l.sides[i] = slices.Delete(l.sides[i], n, n+1)
	}
}

const (
	mostFindings = 100 // of one pair of clocks
	mostSuspects = 1000
	unbounded    = 100 * 365 * 24 * time.Hour
)

// limit is the bound that holds without any token.
func (l *link) limit() time.Duration { return cmp.Or(l.most, unbounded) }

// worst is the suspect that contradicts the most others, or -1 without suspects.
func (l *link) worst(suspects [2][]int) (side, n int) {
	side, n = 0, -1
	most := -1
	for i := range suspects {
		for _, k := range suspects[i][:min(len(suspects[i]), mostSuspects)] {
			b, against := l.sides[i][k], 0
			for _, m := range suspects[1-i][:min(len(suspects[1-i]), mostSuspects)] {
				if o := l.sides[1-i][m]; b.by+o.by+drift(b.at.Sub(o.at)) < -slack {
					against++
				}
			}
			if against > most {
				most, side, n = against, i, k
			}
		}
	}
	return side, n
}

// tightest returns what the bounds of a side come to at any moment.
func (s side) tightest() func(at time.Time) time.Duration {
	if len(s) == 0 {
		return func(time.Time) time.Duration { return unbounded }
	}
	start := s[0].at
	before, behind := make([]time.Duration, len(s)), make([]time.Duration, len(s))
	for i, b := range s {
		before[i] = b.by - drift(b.at.Sub(start))
		if i > 0 {
			before[i] = min(before[i], before[i-1])
		}
	}
	for i := len(s) - 1; i >= 0; i-- {
		behind[i] = s[i].by + drift(s[i].at.Sub(start))
		if i+1 < len(s) {
			behind[i] = min(behind[i], behind[i+1])
		}
	}
	return func(at time.Time) time.Duration {
		i, _ := slices.BinarySearchFunc(s, at, func(b bound, at time.Time) int { return b.at.Compare(at) })
		by, since := unbounded, at.Sub(start)
		if i > 0 {
			by = before[i-1] + since/2000
		}
		if i < len(s) {
			by = min(by, behind[i]-since/2000)
		}
		return by
	}
}

// span is how far behind the first clock is at some moment, at least and at most.
func (l *link) span(at time.Time) (low, high time.Duration) {
	if l.settled[0] == nil {
		l.settled = [2]func(time.Time) time.Duration{l.sides[0].tightest(), l.sides[1].tightest()}
	}
	return -min(l.settled[1](at), l.limit()), min(l.settled[0](at), l.limit())
}

// bounds are what is known at the end of the record.
func (l *link) bounds() Bounds {
	var end time.Time
	for _, s := range l.sides {
		if len(s) > 0 {
			end = later(end, s[len(s)-1].at)
		}
	}
	low, high := l.span(end)
	return Bounds{l.clocks[0], l.clocks[1], low, high}
}
