package demo

import (
	"fmt"
	"time"
)

// pauseHeight is the height of a terminal in which the picture can be drawn over itself.
const pauseHeight = 20

// frame is both halves, one above the other, on one axis of time.
func (p *pausing) frame(int) []string {
	at := p.settings.leases
	lines := []string{
		bold.text("redlatch demo --pause  ") + plain.text("%.1f s of %.1f s", min(p.elapsed(), p.length).Seconds(), p.length.Seconds()) +
			faint.text("   both holders are stopped for %v", at(resumeAfter)-at(stopAfter)),
		faint.text("redis ") + p.address + faint.text("   lease %v, renewed every third of it", p.settings.Lease),
	}
	for _, h := range p.halves {
		c, verdict := h.verdict()
		lines = append(lines, "", bold.text("%s  ", h.title)+c.text("%s", verdict))
		for _, l := range h.lanes {
			lines = append(lines, l.line())
		}
	}
	return append(lines, p.axis(), "")
}

const (
	laneWidth  = 63 // columns for the whole time: nine for each lease
	labelWidth = 11
)

// axis names the moments at which something was done to both.
func (p *pausing) axis() string {
	line, width := fmt.Sprintf("%*s", labelWidth, ""), 0
	for _, m := range []moment{stopped, resumed, released} {
		if at := p.halves[0].at[m]; at > 0 {
			name := fmt.Sprintf("%*s^ %s", max(column(at, p.length)-width, 0), "", m)
			line += faint.text("%s", name)
			width += len(name)
		}
	}
	return line
}

// column is where a moment stands in a lane.
func column(at, all time.Duration) int { return min(int(at*laneWidth/all), laneWidth-1) }

// lane is a line with a character for each stretch of the time.
type lane struct {
	label  string
	glyphs []glyph
}

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

func (l lane) line() string {
	line := fmt.Sprintf("  %-*s", labelWidth-2, l.label)
	for _, g := range l.glyphs {
		line += g.colour.text("%c", g.char)
	}
	return line
}

// glyph is one character of a lane. Of several in one stretch of time a telling one stays.
type glyph struct {
	char    rune
	colour  colour
	telling bool
}

var (
	nothing  = glyph{' ', plain, false}
	runs     = glyph{'━', good, false}
	standing = glyph{'┄', faint, false}
	looks    = glyph{'·', faint, false}
	renews   = glyph{'▲', good, true}
)

// glyphs show what a process says of itself.
var glyphs = map[kind]glyph{
	starting: nothing, leave: nothing, resting: nothing, gone: nothing,
	waiting: looks, enter: runs, holds: runs, doubts: {'?', bold, true}, lost: {'✗', bad, true},
}

// ttlGlyph is what is left of a lease.
func ttlGlyph(ttl, lease time.Duration) glyph {
	eighths := min((max(ttl, 0)*8+lease-1)/lease, 8)
	return glyph{[]rune(" ▁▂▃▄▅▆▇█")[eighths], map[bool]colour{true: bad, false: plain}[eighths <= 3], false}
}
