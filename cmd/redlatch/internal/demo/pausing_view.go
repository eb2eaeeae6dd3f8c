package demo

import "time"

// pauseHeight is the height of a terminal in which the picture can be drawn over itself.
const pauseHeight = 20

const (
	laneWidth  = 63 // columns for the whole time: nine for each lease
	labelWidth = 11
)

// lane is a line with a character for each stretch of the time.
type lane struct {
	label  string
	glyphs []glyph
}

// glyph is one character of a lane. Of several in one stretch of time a telling one stays.
type glyph struct {
	char    rune
	mood    mood
	telling bool
}

var (
	runs     = glyph{'━', good, false}
	standing = glyph{'┄', faint, false}
	doubtful = glyph{'?', bold, true}
	lostIt   = glyph{'✗', bad, true}
	waits    = glyph{'·', faint, false}
	nothing  = glyph{' ', neutral, false}
	looks    = glyph{'·', faint, false}
	renews   = glyph{'▲', good, true}
)

// column is where a moment stands in a lane.
func column(at, all time.Duration) int { return min(int(at*laneWidth/all), laneWidth-1) }

// put puts what is seen into its column. In columns at which the parent had no time to
// look, things stand as they were.
func (l *lane) put(column int, g glyph) {
	for len(l.glyphs) < column {
		last := nothing
		if n := len(l.glyphs); n > 0 {
			last = l.glyphs[n-1]
		}
		if last == renews {
			last = looks // what was not seen is not shown
		}
		l.glyphs = append(l.glyphs, last)
	}
	if len(l.glyphs) == column {
		l.glyphs = append(l.glyphs, g)
	} else if !l.glyphs[column].telling {
		l.glyphs[column] = g
	}
}

func (l lane) line() line {
	text := on(neutral, "  %-*s", labelWidth-2, l.label)
	for _, g := range l.glyphs {
		text = text.and(g.mood, "%c", g.char)
	}
	return text
}

// glyphOf shows what a process says of itself.
func glyphOf(state kind) glyph {
	switch state {
	case enter, holds:
		return runs
	case doubts:
		return doubtful
	case lost:
		return lostIt
	case waiting:
		return waits
	}
	return nothing
}

// ttlGlyph is what is left of a lease.
func ttlGlyph(ttl, lease time.Duration) glyph {
	eighths := min((max(ttl, 0)*8+lease-1)/lease, 8)
	m := neutral
	if eighths <= 3 {
		m = bad
	}
	return glyph{[]rune(" ▁▂▃▄▅▆▇█")[eighths], m, false}
}

// frame is both halves, one above the other, on one axis of time.
func (p *pausing) frame(int) []line {
	at := p.settings.leases
	lines := []line{
		on(bold, "redlatch demo --pause  ").and(neutral, "%.1f s of %.1f s", min(p.elapsed(), p.length).Seconds(), p.length.Seconds()).
			and(faint, "   both holders are stopped for %v", at(resumeAfter)-at(stopAfter)),
		on(faint, "redis ").and(neutral, "%s", p.address).and(faint, "   lease %v, renewed every third of it", p.settings.Lease),
		nil,
	}
	for _, h := range p.halves {
		m, verdict := h.verdict()
		lines = append(lines, on(bold, "%s  ", h.title).and(m, "%s", verdict))
		for _, l := range h.lanes {
			lines = append(lines, l.line())
		}
		lines = append(lines, nil)
	}
	return append(lines[:len(lines)-1], p.axis(), nil)
}

// axis names the moments at which something was done to both.
func (p *pausing) axis() line {
	l := on(neutral, "%*s", labelWidth, "")
	width := 0
	for i, at := range []time.Duration{p.halves[0].stopped, p.halves[0].resumed, p.halves[0].released} {
		if name := []string{"SIGSTOP", "SIGCONT", "release"}[i]; at > 0 {
			l = l.and(faint, "%*s^ %s", max(column(at, p.length)-width, 0), "", name)
			width = max(column(at, p.length), width) + len("^ ") + len(name)
		}
	}
	return l
}
