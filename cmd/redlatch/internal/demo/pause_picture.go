package demo

import (
	"fmt"
	"time"
)

// glyph is one character of a lane.
type glyph struct {
	char rune
	mood mood
}

// What the lanes are made of.
var (
	runs     = glyph{'━', good}
	standing = glyph{'┄', faint}
	doubts   = glyph{'?', bold}
	lostIt   = glyph{'✗', bad}
	waits    = glyph{'·', faint}
	nothing  = glyph{' ', neutral}
	looks    = glyph{'·', faint}
	renews   = glyph{'▲', good}
)

func (h *half) holderGlyph() glyph {
	switch {
	case h.paused():
		return standing
	case h.holder.state == isHolding:
		return runs
	case h.holder.state == isDoubting:
		return doubts
	case h.holder.state == isLosing:
		return lostIt
	}
	return nothing
}

func (h *half) rivalGlyph() glyph {
	switch h.rival.state {
	case isHolding:
		return runs
	case isWaiting:
		return waits
	}
	return nothing
}

// bars are the parts of a lease that may be left.
var bars = []rune(" ▁▂▃▄▅▆▇█")

// ttlGlyph is what is left of a lease.
func ttlGlyph(ttl, lease time.Duration) glyph {
	eighths := min((max(ttl, 0)*8+lease-1)/lease, 8)
	m := neutral
	if eighths <= 3 {
		m = bad
	}
	return glyph{bars[eighths], m}
}

// picture is all that a view shows.
type picture struct {
	settings PauseSettings
	server   string
	elapsed  time.Duration
	halves   [2]*half
	notes    []note
}

func (s *pauseShow) picture() picture {
	return picture{s.settings, s.stage.address, min(time.Since(s.began), s.settings.at(endAfter)), s.halves, s.notes}
}

const (
	laneWidth  = 63 // columns for the whole time: nine for each lease
	labelWidth = 11
)

// lane is a line with a character for each stretch of the time. Where several moments fall
// into one stretch, the most telling one is shown.
func (p picture) lane(label string, h *half, show func(m moment) glyph, telling ...glyph) line {
	columns := make([]glyph, laneWidth)
	for i := range columns {
		columns[i] = nothing
	}
	for _, m := range h.moments {
		at := min(p.column(m.at), laneWidth-1)
		g := show(m)
		for _, t := range telling {
			if columns[at] == t {
				g = t
			}
		}
		columns[at] = g
	}
	l := on(neutral, "  %-*s", labelWidth-2, label)
	for _, g := range columns {
		l = l.and(g.mood, "%c", g.char)
	}
	return l
}

func (p picture) column(at time.Duration) int {
	return int(at * laneWidth / p.settings.at(endAfter))
}

// lines are the two halves, one above the other, on one axis of time.
func (p picture) lines() []line {
	lines := []line{
		on(bold, "redlatch demo --pause  ").and(neutral, "%.1f s of %.1f s", p.elapsed.Seconds(), p.settings.at(endAfter).Seconds()).
			and(faint, "   both holders are stopped for %v", p.settings.at(resumeAfter)-p.settings.at(stopAfter)),
		on(faint, "redis ").and(neutral, "%s", p.server).and(faint, "   lease %v, renewed every third of it", p.settings.Lease),
		nil,
	}
	for _, h := range p.halves {
		m, verdict := h.verdict(p.settings)
		lines = append(lines, on(bold, "%s  ", h.title).and(m, "%s", verdict))
		lines = append(lines,
			p.lane("holder", h, func(m moment) glyph { return m.holder }, lostIt, doubts),
			p.lane("rival", h, func(m moment) glyph { return m.rival }),
			p.lane("TTL", h, func(m moment) glyph { return ttlGlyph(m.ttl, p.settings.Lease) }))
		if h.protected {
			lines = append(lines, p.lane("watchdog", h, func(m moment) glyph {
				if m.renewed {
					return renews
				}
				return looks
			}, renews))
		}
		lines = append(lines, nil)
	}
	return append(lines[:len(lines)-1], p.axis(), nil)
}

// axis names the moments at which something was done to both.
func (p picture) axis() line {
	l := on(neutral, "%*s", labelWidth, "")
	width := 0
	for _, mark := range []struct {
		at   time.Duration
		name string
	}{{p.halves[0].stopped, "SIGSTOP"}, {p.halves[0].resumed, "SIGCONT"}, {p.halves[0].released, "release"}} {
		if mark.at > 0 {
			l = l.and(faint, "%*s^ %s", max(p.column(mark.at)-width, 0), "", mark.name)
			width = max(p.column(mark.at), width) + len("^ ") + len(mark.name)
		}
	}
	return l
}

// verdict is what has become of the half so far, in a few words.
func (h *half) verdict(s PauseSettings) (mood, string) {
	switch {
	case h.released > 0 && h.broken(s) != "" && h.entered > 0:
		return bad, h.broken(s)
	case h.confirmed > 0:
		return good, fmt.Sprintf("renewed %s for it: the hold is kept", plural(h.renewals, "time", "times"))
	case h.lost > 0:
		return bad, fmt.Sprintf("the rival entered after %s: the hold is lost", seconds(h.entered-h.stopped))
	case h.entered > 0:
		return bad, "two processes believe that they hold the lock, but one stands still"
	case h.paused():
		return faint, "the holder stands still"
	}
	return faint, "the holder works"
}
