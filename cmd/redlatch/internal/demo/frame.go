package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// The frame needs fixedLines besides the workers and the notes, and is not worth
// showing with fewer than minNotes of these.
const (
	fixedLines = 11
	minRows    = 2
	minNotes   = 3
	maxNotes   = 10
)

// frame is the scene as lines of a screen of that height, the last of which stays
// free for the cursor.
func (s *scene) frame(notes []note, height int) []line {
	room := height - 1 - fixedLines
	if s.settings.Fair {
		room-- // for the queue
	}
	rows := min(len(s.rows), max(room-minNotes, minRows))
	lines := s.head()
	lines = append(lines, nil)
	lines = append(lines, s.holderLines()...)
	lines = append(lines, nil)
	lines = append(lines, s.rowLines(rows)...)
	lines = append(lines, nil, s.tally(), nil)
	shown := min(len(notes), max(min(room-rows, maxNotes), 0))
	for _, n := range notes[len(notes)-shown:] {
		lines = append(lines, line{}.and(faint, "%6.1f s  ", n.after.Seconds()).and(n.mood, "%s", n.text))
	}
	return lines
}

// head says what is shown and where.
func (s *scene) head() []line {
	return []line{
		on(bold, "redlatch demo  ").and(neutral, "%.1f s of %s", s.elapsed().Seconds(), seconds(s.settings.For)).
			and(faint, "   %d processes, one lock, one unguarded number", s.settings.Workers),
		on(faint, "lock  ").and(neutral, "%s", s.lock).and(faint, "   lease %v, renewed every third of it", s.settings.Lease),
		on(faint, "redis ").and(neutral, "%s", s.server),
	}
}

// holderLines are the lock as Redis has it.
func (s *scene) holderLines() []line {
	holder := line{}.and(neutral, "held by ")
	switch {
	case s.trouble != nil:
		holder = holder.and(bad, "?  Redis does not answer: %v", s.trouble)
	case s.sample.owner == "":
		holder = holder.and(faint, "nobody")
	default:
		holder = holder.and(s.holderMood(), "%-8s", s.holder()).and(faint, "  %s  count %d", protocol.Show(s.sample.owner), s.sample.count)
	}
	lines := []line{holder, s.ttlLine()}
	if s.settings.Fair {
		lines = append(lines, on(neutral, "queue   ").and(neutral, "%s", strings.Join(s.waiters(), " ")))
	}
	return lines
}

func (s *scene) holderMood() mood {
	if s.orphaned() {
		return bad
	}
	return good
}

// ttlLine is the rest of the lease, as a bar.
func (s *scene) ttlLine() line {
	const width = 40
	full := 0
	if s.settings.Lease > 0 {
		full = min(int((s.ttl()*width+s.settings.Lease-1)/s.settings.Lease), width)
	}
	l := on(neutral, "TTL     [").and(s.holderMood(), "%s", strings.Repeat("#", full))
	l = l.and(faint, "%s", strings.Repeat(".", width-full)).and(neutral, "] %7s", seconds(s.ttl()))
	return l.and(faint, "   renewals seen ").and(neutral, "%d", s.renewals)
}

// rowLines are the workers, as many as there is room for.
func (s *scene) rowLines(room int) []line {
	var lines []line
	for i, r := range s.rows {
		if i == room-1 && len(s.rows) > room {
			return append(lines, on(faint, "  and %d more", len(s.rows)-i))
		}
		lines = append(lines, r.line(s.now))
	}
	return lines
}

func (r row) line(now time.Time) line {
	l := line{}.and(neutral, "  %-4s", fmt.Sprintf("w%d", r.number)).and(faint, "pid %-8d", r.pid)
	// The time counts where somebody waits for it to pass.
	since := fmt.Sprintf("%5.1f s", max(now.Sub(r.since), 0).Seconds())
	switch r.state {
	case holding:
		l = l.and(good, "%-9s", "HOLDS").and(faint, "%s", since)
	case waiting:
		l = l.and(neutral, "%-9s", "waits").and(faint, "%s", since)
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

// tally is what has been counted so far.
func (s *scene) tally() line {
	overlaps := good
	if s.verdict.Overlaps > 0 {
		overlaps = bad
	}
	return on(faint, "increments ").and(bold, "%d", s.verdict.Completed).
		and(faint, "   counter file ").and(bold, "%d", s.counter).
		and(faint, "   overlaps ").and(overlaps, "%d", s.verdict.Overlaps).
		and(faint, "   last hand-over ").and(neutral, "%s", millis(s.handOver))
}
