package demo

import (
	"fmt"
	"strings"
	"time"
)

// seconds is a duration that people wait for.
func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Minute:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// millis is a duration that machines wait for.
func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// plural is a number of things; many is their name when they are not one.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// span is a piece of a line in one colour.
type span struct {
	mood mood
	text string
}

// line is one line on a screen.
type line []span

// on is a line in one colour.
func on(m mood, format string, args ...any) line { return line{{m, fmt.Sprintf(format, args...)}} }

// and appends a piece.
func (l line) and(m mood, format string, args ...any) line {
	return append(l, span{m, fmt.Sprintf(format, args...)})
}

// colours are the terminal's codes. The faint one is a colour too, because not every
// terminal can do faint.
var colours = map[mood]string{good: "32", bad: "31;1", faint: "90", bold: "1"}

// render cuts the line to the width of the terminal, so that it stays one line, and
// colours it.
func (l line) render(width int, coloured bool) string {
	var text strings.Builder
	for _, s := range l {
		runes := []rune(s.text)
		runes = runes[:min(len(runes), max(width, 0))]
		width -= len(runes)
		code := colours[s.mood]
		if !coloured || code == "" || len(runes) == 0 {
			text.WriteString(string(runes))
			continue
		}
		fmt.Fprintf(&text, "\x1b[%sm%s\x1b[0m", code, string(runes))
	}
	return text.String()
}
