package demo

import (
	"fmt"
	"strings"
	"time"
)

// In a terminal lower than minHeight the frame is not worth drawing: it has eleven lines
// besides the workers and the notes.
const (
	fixedLines = 11
	minRows    = 2
	minNotes   = 3
	minHeight  = 1 + fixedLines + minRows + minNotes
)

// frame is how things stand, as lines of a screen of that height. It leaves room for
// some notes.
func (c *counting) frame(height int) []string {
	lines := append(append(append(c.head(), ""), c.status()...), "last hand-over "+millis(c.referee.handOver)+fmt.Sprintf(", renewals seen %d", c.renewals), "")
	room := max(height-1-fixedLines-minNotes, minRows)
	for i, p := range c.workers {
		if i == room-1 && len(c.workers) > room {
			lines = append(lines, faint.text("  and %d more", len(c.workers)-i))
			break
		}
		lines = append(lines, p.line(c.now))
	}
	return append(lines, "")
}

// status is how things stand, as lines of the frame, or one line of the log.
func (c *counting) status() []string {
	const width = 30
	left := c.left(c.now)
	full := min(int((left*width+c.settings.Lease-1)/c.settings.Lease), width)
	held := map[bool]colour{true: bad, false: good}[c.orphaned()]
	overlaps := map[bool]colour{true: bad, false: good}[c.referee.overlaps > 0]
	return []string{
		"held by " + held.text("%s", c.holder()),
		"TTL [" + held.text("%s", strings.Repeat("#", full)) + faint.text("%s", strings.Repeat(".", width-full)) + "] " + seconds(left),
		map[bool]string{true: "queue: ", false: "waiting: "}[c.settings.Fair] + c.waiters(),
		bold.text("increments %d, counter %d", c.referee.completed, c.number) + overlaps.text(", overlaps %d", c.referee.overlaps),
	}
}

// head says what is shown and where.
func (c *counting) head() []string {
	return []string{
		bold.text("redlatch demo  ") + fmt.Sprintf("%.1f s of %s", min(c.elapsed(), c.length).Seconds(), seconds(c.length)) +
			faint.text("   %d processes, one lock, one unguarded number", c.settings.Workers),
		faint.text("lock  ") + c.name + faint.text("   lease %v, renewed every third of it", c.settings.Lease),
		faint.text("redis ") + c.address,
	}
}

// line is a worker in the frame.
func (p *process) line(now time.Time) string {
	// The time counts where somebody waits for it to pass.
	since := faint.text("%5.1f s", max(now.Sub(p.since), 0).Seconds())
	state := faint.text("%-16s", p.state)
	switch p.state {
	case enter, holds, doubts, leave:
		state = good.text("HOLDS    ") + since
	case waiting:
		state = "waits    " + since
	case lost:
		state = bad.text("%-16s", p.state)
	}
	line := fmt.Sprintf("  %-4v", p) + faint.text("pid %-8d", p.pid()) + state + fmt.Sprintf("%6d", p.done) + faint.text(" added")
	if p.replaces != nil {
		line += faint.text("   in place of %v", p.replaces)
	}
	return line
}

// waiters names the workers that wait, those for a fair lock in the order of its queue.
// The holder is none of them, even if Redis was asked a moment before the worker was
// heard.
func (c *counting) waiters() string {
	var names []string
	for _, w := range c.queue {
		names = append(names, c.worker(w.Owner))
	}
	for _, p := range c.workers {
		if !c.settings.Fair && p.state == waiting && p.String() != c.holder() {
			names = append(names, p.String())
		}
	}
	if len(names) > 8 { // the line would not fit
		return plural(len(names), "worker")
	}
	return strings.Join(names, " ")
}

// holder names the worker that has the lock, as Redis says.
func (c *counting) holder() string {
	switch {
	case c.gauge.err != nil:
		return fmt.Sprintf("?  Redis does not answer: %v", c.gauge.err)
	case c.owner == "":
		return "nobody"
	case c.orphaned():
		return c.dead.String() + ", dead"
	}
	return c.worker(c.owner)
}

// worker names the worker that an owner belongs to.
func (c *counting) worker(owner string) string {
	for _, p := range c.workers {
		if p.owns(owner) {
			return p.String()
		}
	}
	return "a stranger"
}

// orphaned says whether the lock belongs to the worker that was killed.
func (c *counting) orphaned() bool { return c.dead != nil && c.dead.owns(c.owner) }
