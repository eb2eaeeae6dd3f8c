package soak

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// The plot has one panel for each series, below one another.
const (
	width, panelHeight  = 760, 92
	left, right         = 190, 90
	top, panelPadding   = 56, 18
	bottom              = 34
	plotWidth           = width - left - right
	curveHeight         = panelHeight - 2*panelPadding
	background, ink     = "#ffffff", "#1f2933"
	faint, grid, stroke = "#6b7785", "#e3e8ee", "#1f6feb"
)

// plot draws the record as an SVG image. Each panel begins at zero, so that growth is to scale.
func (r *record) plot(title, subtitle string) string {
	var b strings.Builder
	height := top + len(r.series)*panelHeight + bottom
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13" role="img">`+"\n", width, height)
	fmt.Fprintf(&b, `<title>%s</title><rect width="%d" height="%d" fill="%s"/>`+"\n", html.EscapeString(title), width, height, background)
	text(&b, 20, 26, "start", ink, `font-size="16" font-weight="600"`, title)
	text(&b, 20, 45, "start", faint, "", subtitle)
	for i, s := range r.series {
		s.draw(&b, top+i*panelHeight)
	}
	r.axis(&b, top+len(r.series)*panelHeight)
	b.WriteString("</svg>\n")
	return b.String()
}

func (s *series) draw(b *strings.Builder, y int) {
	most := slices.Max(s.values)
	floor, ceiling := y+panelHeight-panelPadding, y+panelPadding
	text(b, 20, y+panelHeight/2, "start", ink, `font-weight="600"`, s.name)
	text(b, 20, y+panelHeight/2+16, "start", faint, "", s.unit)
	fmt.Fprintf(b, `<path d="M%d %dH%dM%d %dH%d" stroke="%s"/>`+"\n", left, floor, left+plotWidth, left, ceiling, left+plotWidth, grid)
	text(b, left-8, floor+4, "end", faint, "", "0")
	text(b, left-8, ceiling+4, "end", faint, "", number(most))
	points := make([]string, len(s.values))
	for i, v := range s.values {
		x := left + float64(plotWidth)*float64(i)/float64(max(len(s.values)-1, 1))
		points[i] = fmt.Sprintf("%.1f,%.1f", x, float64(floor)-float64(curveHeight)*v/max(most, 1e-9))
	}
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="%s"/>`+"\n", stroke, strings.Join(points, " "))
	text(b, left+plotWidth+8, floor-curveHeight/2+4, "start", ink, "", number(s.values[len(s.values)-1]))
}

// axis writes the time below the panels.
func (r *record) axis(b *strings.Builder, y int) {
	for i := range 5 {
		at := r.length * time.Duration(i) / 4
		text(b, left+plotWidth*i/4, y+14, "middle", faint, "", at.Round(time.Second).String())
	}
	text(b, left+plotWidth+8, top-2, "start", faint, "", "at the end")
}

func text(b *strings.Builder, x, y int, anchor, fill, more, words string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s" fill="%s" %s>%s</text>`+"\n", x, y, anchor, fill, more, html.EscapeString(words))
}

// number has three digits that matter.
func number(v float64) string {
	switch {
	case v >= 10_000:
		return fmt.Sprintf("%.0fk", v/1000)
	case v >= 100 || v == float64(int(v)):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
