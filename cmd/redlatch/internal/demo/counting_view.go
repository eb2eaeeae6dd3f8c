package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// The frame needs fixedLines besides the workers and the notes. In a terminal lower than
// minHeight it is not worth drawing.
const (
	fixedLines = 11
	minRows    = 2
	minNotes   = 3
	minHeight  = 1 + fixedLines + minRows + minNotes
)

// holder names the worker that has the lock, as Redis says.
func (c *counting) holder() string {
	switch {
	case c.gauge.last.owner == "":
		return "nobody"
	case c.orphaned():
		return fmt.Sprintf("w%d, dead", c.dead.number)
	}
	return c.name(c.gauge.last.owner)
}

// name names the worker that an owner belongs to.
func (c *counting) name(owner string) string {
	for _, r := range c.rows {
		if r.client != "" && strings.HasPrefix(owner, r.client+":") {
			return fmt.Sprintf("w%d", r.number)
		}
	}
	return "a stranger"
}

// orphaned says whether the lock belongs to the worker that was killed.
func (c *counting) orphaned() bool {
	return c.dead != nil && strings.HasPrefix(c.gauge.last.owner, c.dead.client+":")
}

// waiters names the workers that wait, those for a fair lock in the order of its queue.
// The holder is none of them, even where Redis was asked a moment before the worker was
// heard.
func (c *counting) waiters() []string {
	var names []string
	if c.settings.Fair {
		for _, w := range c.gauge.last.queue {
			names = append(names, c.name(w.Owner))
		}
		return names
	}
	for _, r := range c.rows {
		if name := fmt.Sprintf("w%d", r.number); r.state == waiting && name != c.holder() {
			names = append(names, name)
		}
	}
	return names
}

// ttl is what is left of the lease now, run down from the last sample.
func (c *counting) ttl() time.Duration {
	if c.gauge.last.owner == "" {
		return 0
	}
	return max(c.gauge.last.ttl-c.now.Sub(c.gauge.last.at), 0)
}

// head says what is shown and where.
func (c *counting) head() []line {
	return []line{
		on(bold, "redlatch demo  ").and(neutral, "%.1f s of %s", min(c.elapsed(), c.settings.For).Seconds(), seconds(c.settings.For)).
			and(faint, "   %d processes, one lock, one unguarded number", c.settings.Workers),
		on(faint, "lock  ").and(neutral, "%s", c.lock.Name()).and(faint, "   lease %v, renewed every third of it", c.settings.Lease),
		on(faint, "redis ").and(neutral, "%s", c.address),
	}
}

// state is how things stand, in one line of the log.
func (c *counting) state() string {
	text := fmt.Sprintf("held by %s, TTL %s", c.holder(), seconds(c.ttl()))
	switch {
	case c.gauge.err != nil:
		text = fmt.Sprintf("Redis does not answer: %v", c.gauge.err)
	case c.gauge.last.owner == "":
		text = "held by nobody"
	}
	wait := "waiting"
	if c.settings.Fair {
		wait = "queue"
	}
	switch waiters := c.waiters(); {
	case len(waiters) > 8: // the line would not fit
		text += fmt.Sprintf("; %s: %d workers", wait, len(waiters))
	case len(waiters) > 0:
		text += "; " + wait + ": " + strings.Join(waiters, " ")
	}
	return fmt.Sprintf("%s; increments %d, counter %d, overlaps %d", text, c.referee.verdict.Completed, c.number, c.referee.verdict.Overlaps)
}

// frame is how things stand, as lines of a screen of that height. It leaves room for
// some notes.
func (c *counting) frame(height int) []line {
	lines := append(append(c.head(), nil), c.holderLines()...)
	room := max(height-1-fixedLines-minNotes, minRows)
	if c.settings.Fair {
		room = max(room-1, minRows)
	}
	for i, r := range c.rows {
		if i == room-1 && len(c.rows) > room {
			lines = append(lines, on(faint, "  and %d more", len(c.rows)-i))
			break
		}
		lines = append(lines, r.line(c.now))
	}
	overlaps := good
	if c.referee.verdict.Overlaps > 0 {
		overlaps = bad
	}
	return append(lines, nil, on(faint, "increments ").and(bold, "%d", c.referee.verdict.Completed).
		and(faint, "   counter file ").and(bold, "%d", c.number).
		and(faint, "   overlaps ").and(overlaps, "%d", c.referee.verdict.Overlaps).
		and(faint, "   last hand-over ").and(neutral, "%s", millis(c.referee.handOver)), nil)
}

// holderLines are the lock as Redis has it, and the rest of the lease as a bar.
func (c *counting) holderLines() []line {
	m := good
	if c.orphaned() {
		m = bad
	}
	holder := on(neutral, "held by ")
	switch {
	case c.gauge.err != nil:
		holder = holder.and(bad, "?  Redis does not answer: %v", c.gauge.err)
	case c.gauge.last.owner == "":
		holder = holder.and(faint, "nobody")
	default:
		holder = holder.and(m, "%-8s", c.holder()).and(faint, "  %s  count %d", protocol.Show(c.gauge.last.owner), c.gauge.last.count)
	}
	const width = 40
	full := min(int((c.ttl()*width+c.settings.Lease-1)/c.settings.Lease), width)
	lines := []line{holder, on(neutral, "TTL     [").and(m, "%s", strings.Repeat("#", full)).
		and(faint, "%s", strings.Repeat(".", width-full)).and(neutral, "] %7s", seconds(c.ttl())).
		and(faint, "   renewals seen ").and(neutral, "%d", c.gauge.renewals)}
	if c.settings.Fair {
		lines = append(lines, on(neutral, "queue   %s", strings.Join(c.waiters(), " ")))
	}
	return append(lines, nil)
}

func (r *row) line(now time.Time) line {
	l := on(neutral, "  %-4s", fmt.Sprintf("w%d", r.number)).and(faint, "pid %-8d", r.pid())
	// The time counts where somebody waits for it to pass.
	since := fmt.Sprintf("%5.1f s", max(now.Sub(r.since), 0).Seconds())
	switch r.state {
	case enter:
		l = l.and(good, "HOLDS    ").and(faint, "%s", since)
	case waiting:
		l = l.and(neutral, "waits    ").and(faint, "%s", since)
	case lost:
		l = l.and(bad, "%-16s", r.state)
	default:
		l = l.and(faint, "%-16s", r.state)
	}
	l = l.and(neutral, "%6d", r.done).and(faint, " added")
	if r.replaces != 0 {
		l = l.and(faint, "   in place of w%d", r.replaces)
	}
	return l
}
