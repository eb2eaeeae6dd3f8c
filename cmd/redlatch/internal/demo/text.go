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
func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", 1e3*d.Seconds()) }

// plural is a number of things, and their name with an s unless there is one.
func plural[N int | int64](n N, name string) string {
	if n == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%d %ss", n, name)
}

// mood is the colour of a text.
type mood int

const (
	neutral mood = iota
	good
	bad
	faint
	bold
)

// colours are the terminal's codes. The faint one is a colour too, because not every
// terminal can do faint.
var colours = map[mood]string{good: "32", bad: "31;1", faint: "90", bold: "1"}

// line is one line on a screen, in pieces of one colour each.
type line []struct {
	mood mood
	text string
}

// on begins a line.
func on(m mood, format string, args ...any) line { return line{}.and(m, format, args...) }

// and appends a piece.
func (l line) and(m mood, format string, args ...any) line {
	return append(l, struct {
		mood mood
		text string
	}{m, fmt.Sprintf(format, args...)})
}

// render cuts the line to the width of the terminal, so that it stays one line, and
// colours it.
func (l line) render(width int, coloured bool) string {
	var text strings.Builder
	for _, s := range l {
		runes := []rune(s.text)
		runes = runes[:min(len(runes), max(width, 0))]
		width -= len(runes)
		if code := colours[s.mood]; coloured && code != "" && len(runes) > 0 {
			fmt.Fprintf(&text, "\x1b[%sm%s\x1b[0m", code, string(runes))
		} else {
			text.WriteString(string(runes))
		}
	}
	return text.String()
}
