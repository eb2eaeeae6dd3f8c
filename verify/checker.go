package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
)

// Checker collects the events of many processes. It is for one goroutine.
type Checker struct {
	// Clocks is by how much two clocks differ at most, if that is known. Zero: not known.
	Clocks time.Duration

	locks map[string]*lockRecord
	named []*lockRecord // in the order of their first events
	holds int
	ends  []Finding // what an event says by itself
}

// lockRecord is what is recorded of a lock.
type lockRecord struct {
	name     string
	holds    []*hold
	open     map[string][]*hold // by owner
	detached map[place]bool
}

// hold is one hold, as its holder saw it.
type hold struct {
	clock, owner, lock string
	shared             bool
	token              int64
	from, to           time.Time // while it was relied on
	how                string    // it ended, "" if that is not recorded
}

// Finding is a promise that was not kept.
type Finding struct {
	Kind string        `json:"kind"` // "overlap", "token back", "past deadline" or "late loss"
	Lock string        `json:"lock"`
	At   time.Time     `json:"at"`    // by the clock of the later holder
	By   time.Duration `json:"by_ns"` // for how long at least; zero for tokens
	Text string        `json:"text"`
}

// slack is what the times of one clock are worth.
const slack = time.Millisecond

// Add takes an event in. Those of one process come in their order. Events of the same lock in other
// processes may come before or after.
func (c *Checker) Add(l Line) {
	if c.locks == nil {
		c.locks = make(map[string]*lockRecord)
	}
	key := l.Space + "\x00" + l.Lock
	r := c.locks[key]
	if r == nil {
		r = &lockRecord{name: l.Lock, open: make(map[string][]*hold), detached: make(map[place]bool)}
		c.locks[key], c.named = r, append(c.named, r)
	}
	switch redlatch.EventKind(l.Event) {
	case redlatch.EventAcquired:
		if c.holds++; l.Kind != string(redlatch.KindPermit) { // of which only the end is checked
			h := &hold{clock: l.Clock, owner: l.Owner, lock: l.Lock, shared: l.Kind == string(redlatch.KindRead), token: l.Token, from: l.Since, to: l.Since}
			r.open[l.Owner], r.holds = append(r.open[l.Owner], h), append(r.holds, h)
		}
	case redlatch.EventRenewed:
		for _, h := range r.open[l.Owner] {
			h.to = later(h.to, l.At)
		}
	case redlatch.EventReleased, redlatch.EventDetached:
		c.judge(l)
		if l.Event == string(redlatch.EventDetached) {
			r.detached[place{l.Owner, l.Token}] = true
		}
		i := slices.IndexFunc(r.open[l.Owner], func(h *hold) bool { return h.from.Equal(l.Since) && h.token == l.Token })
		if i >= 0 {
			r.open[l.Owner][i].end(l)
			r.open[l.Owner] = slices.Delete(r.open[l.Owner], i, i+1)
		}
	case redlatch.EventLost, redlatch.EventClosed:
		c.judge(l)
		for _, h := range r.open[l.Owner] {
			h.end(l)
		}
		delete(r.open, l.Owner)
	}
	if len(r.open[l.Owner]) == 0 {
		delete(r.open, l.Owner)
	}
}

// place is what an owner and its holds have in the order of tokens. It may have detached one of them, for a ticket.
type place struct {
	owner string
	token int64
}

// end takes note of the end of a hold.
func (h *hold) end(l Line) {
	h.to, h.how = later(h.to, l.At), l.Event
	if l.Loss != "" {
		h.how = "lost (" + l.Loss + ")"
	}
}

// judge checks an end beside the deadline of its hold.
func (c *Checker) judge(l Line) {
	over := -time.Duration(l.Left) * time.Microsecond
	lost := l.Event == string(redlatch.EventLost) || l.Loss != ""
	switch {
	case lost && over > lateness:
		c.ends = append(c.ends, Finding{"late loss", l.Lock, l.At, over,
			fmt.Sprintf("%s on %s learned %v after the deadline that its hold is lost (%s): it was paused, or had no processor", l.Owner, l.Clock, over, l.Loss)})
	case !lost && over > slack:
		c.ends = append(c.ends, Finding{"past deadline", l.Lock, l.At, over,
			fmt.Sprintf("%s on %s relied on its hold for %v after its deadline", l.Owner, l.Clock, over)})
	}
}

// lateness is how late a timer may fire on a machine that has other work.
const lateness = 100 * time.Millisecond

// Report is what the events say.
type Report struct {
	Findings  []Finding // in the order of their times
	Holds     int
	Locks     int
	Undecided int      // pairs of holds that may overlap, for all that is known of the clocks
	Clocks    []Bounds // of pairs of clocks that tokens link
}

// Bounds say by how much the other clock is ahead, at the end of the record.
type Bounds struct {
	Clock string        `json:"clock"`
	Other string        `json:"other"`
	Least time.Duration `json:"least_ns"`
	Most  time.Duration `json:"most_ns"`
}

// String says it in words.
func (b Bounds) String() string {
	least, most := b.Least.Round(time.Millisecond).String(), b.Most.Round(time.Millisecond).String()
	if b.Least <= -unbounded {
		least = "an unknown time"
	}
	if b.Most >= unbounded {
		most = "an unknown time"
	}
	return fmt.Sprintf("%s is ahead of %s by %s to %s", b.Other, b.Clock, least, most)
}

// Check compares all holds. It may be called again after more events.
func (c *Checker) Check() Report {
	links := make(map[[2]string]*link)
	report := Report{Findings: slices.Clone(c.ends), Holds: c.holds, Locks: len(c.named)}
	for _, r := range c.named {
		report.Findings = append(report.Findings, r.byTokens(links, c.Clocks)...)
	}
	for _, l := range links {
		report.Findings = append(report.Findings, l.settle()...)
		report.Clocks = append(report.Clocks, l.bounds())
	}
	for _, r := range c.named {
		found, undecided := r.byTimes(links, c.Clocks)
		report.Findings, report.Undecided = append(report.Findings, found...), report.Undecided+undecided
	}
	slices.SortFunc(report.Clocks, func(a, b Bounds) int { return strings.Compare(a.Clock+"\x00"+a.Other, b.Clock+"\x00"+b.Other) })
	slices.SortStableFunc(report.Findings, func(a, b Finding) int { return a.At.Compare(b.At) })
	return report
}

// Forget leaves out all but the last holds of each lock, for a record without an end.
func (c *Checker) Forget(last int) {
	c.ends = nil
	for _, r := range c.named {
		r.holds = slices.Delete(r.holds, 0, max(len(r.holds)-last, 0))
		kept := make(map[string]bool)
		for _, h := range r.holds {
			kept[h.owner] = true
		}
		maps.DeleteFunc(r.open, func(owner string, _ []*hold) bool { return !kept[owner] })
		maps.DeleteFunc(r.detached, func(p place, _ bool) bool { return !kept[p.owner] })
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
