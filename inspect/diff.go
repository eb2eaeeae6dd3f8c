package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// Diff returns the events between two readings of some locks. At is the time of the second reading, for
// locks without Lock.Seen. A lock that is missing from a reading counts as free. Diff does not see what
// began and ended between the readings. It sends nothing, and changes nothing.
func Diff(prev, next []Lock, at time.Time) []Event {
	before := make(map[string]Lock, len(prev))
	for _, l := range prev {
		before[l.Name] = l
	}
	var all []Event
	seen := make(map[string]bool, len(next))
	for _, l := range next {
		seen[l.Name] = true
		all = append(all, diffLock(before[l.Name], l, l.seen(at))...)
	}
	for _, l := range prev {
		if !seen[l.Name] {
			all = append(all, diffLock(l, Lock{Name: l.Name, Waiting: l.Waiting}, at)...)
		}
	}
	return all
}

// seen is when a lock was read.
func (l Lock) seen(otherwise time.Time) time.Time {
	if l.Seen.IsZero() {
		return otherwise
	}
	return l.Seen
}

// change collects the events of one lock.
type change struct {
	prev, next Lock
	at         time.Time
	events     []Event
}

func diffLock(prev, next Lock, at time.Time) []Event {
	c := change{prev: prev, next: next, at: at}
	c.ended()
	c.holders()
	c.queue()
	c.listeners()
	c.findings()
	return c.events
}

func (c *change) add(kind EventKind, owner string, p *Process, ttl time.Duration, format string, args ...any) {
	e := Event{At: c.at, Lock: c.next.Name, Kind: kind, Owner: owner, TTL: ttl}
	who := ""
	if owner != "" {
		who = protocol.Show(owner) + " "
	}
	if p != nil {
		e.Name = p.Name
		who = fmt.Sprintf("%s (%s) ", protocol.Show(owner), protocol.Show(p.Name))
	}
	e.Text = who + fmt.Sprintf(format, args...)
	c.events = append(c.events, e)
}

// ended are the holders that do not hold it any more. They come first, because others take the lock
// after them.
func (c *change) ended() {
	if c.next.cut() {
		return
	}
	for _, h := range c.prev.Holders {
		if find(c.next.Holders, h) != nil {
			continue
		}
		if left := remaining(h.TTL, c.passed()); left > 0 || h.TTL < 0 {
			c.add(EventReleased, h.Owner, h.Process, 0, "released it")
		} else {
			c.add(EventExpired, h.Owner, h.Process, 0, "holds it no more, and its time was over")
		}
	}
}

// cut says that Holders does not name all. Who is missing there may hold the lock all the same.
func (l Lock) cut() bool { return l.Owners > len(l.Holders) }

// passed is the time between the two readings. A reply may arrive long after the server has read the
// lock, so the server's clock tells it better.
func (c *change) passed() time.Duration {
	if !c.prev.serverTime.IsZero() && !c.next.serverTime.IsZero() {
		return max(0, c.next.serverTime.Sub(c.prev.serverTime))
	}
	return c.at.Sub(c.prev.seen(c.at))
}

// remaining is what is left of a time to live after a while.
func remaining(ttl, after time.Duration) time.Duration {
	if ttl < 0 {
		return ttl
	}
	return max(ttl-after, 0)
}

// find is the holder with the same owner and side, nil if there is none.
func find(holders []Holder, like Holder) *Holder {
	at := slices.IndexFunc(holders, func(h Holder) bool { return h.Owner == like.Owner && h.Write == like.Write })
	if at < 0 {
		return nil
	}
	return &holders[at]
}

// grew is how much longer than expected a time to live has to be to count as renewed. An embedded server
// counts in steps, and after a failover another clock answers.
const grew = 200 * time.Millisecond

func (c *change) holders() {
	for _, h := range c.next.Holders {
		was := find(c.prev.Holders, h)
		if was == nil && c.prev.cut() {
			continue
		}
		if was == nil {
			c.add(EventGranted, h.Owner, h.Process, h.TTL, "holds it%s, %s", side(c.next, h), left(h.TTL))
			c.beside(Holder{}, h)
			continue
		}
		c.beside(*was, h)
		if was.Count != h.Count {
			c.add(EventReentry, h.Owner, h.Process, h.TTL, "has %d holds, and had %d", h.Count, was.Count)
		}
		due := remaining(was.TTL, c.passed())
		if was.TTL >= 0 && (h.TTL < 0 || h.TTL > due+grew) {
			c.add(EventRenewed, h.Owner, h.Process, h.TTL, "renewed it, %s", left(h.TTL))
		}
		c.protection(*was, h)
	}
}

// beside are a note and a recall that were not there before.
func (c *change) beside(was, is Holder) {
	if is.Note != "" && is.Note != was.Note {
		c.add(EventNoted, is.Owner, is.Process, is.TTL, "holds it for: %s", protocol.Show(is.Note))
	}
	if is.Recall == nil || was.Recall != nil && *was.Recall == *is.Recall && was.Told == is.Told {
		return
	}
	says := "is asked for it by"
	if is.Told {
		says = "knows that it is asked for it by"
	}
	c.add(EventRecalled, is.Owner, is.Process, is.TTL, "%s %s: %s", says, protocol.Show(cmp.Or(is.Recall.Author, "somebody")), protocol.Show(is.Recall.Reason))
}

func side(l Lock, h Holder) string {
	switch {
	case l.Kind != KindReadWrite:
		return ""
	case h.Write:
		return " for writing"
	}
	return " for reading"
}

func left(ttl time.Duration) string {
	if ttl < 0 {
		return "without end"
	}
	return ttl.Round(100*time.Millisecond).String() + " left"
}

func (c *change) protection(was, is Holder) {
	if was.Protection == nil || is.Protection == nil {
		return
	}
	switch p := is.Protection; {
	case p.Dead && !was.Protection.Dead:
		c.add(EventPaused, is.Owner, is.Process, is.TTL, "is dead: its heartbeat is overdue, and its process is gone")
	case was.Protection.Alive && !p.Alive:
		c.add(EventPaused, is.Owner, is.Process, is.TTL, "is paused: its heartbeat is overdue")
	case !was.Protection.Alive && p.Alive:
		c.add(EventResumed, is.Owner, is.Process, is.TTL, "runs again: its heartbeat is in time")
	}
}

func (c *change) queue() {
	if c.prev.Queued > len(c.prev.Queue) || c.next.Queued > len(c.next.Queue) {
		return // only a part of the queue is known
	}
	isIn := func(queue []Waiter, owner string) bool {
		return slices.ContainsFunc(queue, func(w Waiter) bool { return w.Owner == owner })
	}
	for _, w := range c.prev.Queue {
		if !isIn(c.next.Queue, w.Owner) && find(c.next.Holders, Holder{Owner: w.Owner}) == nil {
			c.add(EventLeft, w.Owner, w.Process, 0, "left the queue")
		}
	}
	for n, w := range c.next.Queue {
		if !isIn(c.prev.Queue, w.Owner) {
			c.add(EventWaits, w.Owner, w.Process, 0, "waits at place %d", n+1)
		}
	}
}

func (c *change) listeners() {
	was, is := c.prev.Waiting, c.next.Waiting
	switch {
	case was < 0 || is < 0 || c.prev.Kind == KindFair || c.next.Kind == KindFair: // the queue says more
	case is > was:
		c.add(EventWaits, "", nil, 0, "%d processes wait, and %d did before", is, was)
	case is < was:
		c.add(EventLeft, "", nil, 0, "%d processes wait, and %d did before", is, was)
	}
}

func (c *change) findings() {
	for _, f := range c.next.Findings {
		if !slices.ContainsFunc(c.prev.Findings, func(old Finding) bool { return old.Code == f.Code }) {
			c.add(EventFinding, "", nil, 0, "%s", f.Text)
		}
	}
}
