package demo

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen shows the demonstration: in a terminal as a frame that is drawn over the last one,
// with the newest notes below it, and elsewhere in lines.
type screen struct {
	out   io.Writer
	notes []string
	err   error // why nothing can be written any more

	size     func() (width, height int, err error) // of the terminal; nil if there is none
	coloured bool

	width, height int // when it was drawn last
	lines         int // of the last frame
}

const maxNotes = 10

// newScreen draws frames if out is a terminal of at least that height. A frame that has
// scrolled out of a lower one could not be drawn over.
func newScreen(out io.Writer, minHeight int) *screen {
	s := &screen{out: out}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return s
	}
	size := func() (int, int, error) { return term.GetSize(int(file.Fd())) }
	if _, height, err := size(); err == nil && height >= minHeight {
		s.size, s.coloured = size, os.Getenv("NO_COLOR") == ""
	}
	return s
}

// draws says whether there is a terminal for frames.
func (s *screen) draws() bool { return s.size != nil }

// note shows what happened at a time since the start.
func (s *screen) note(at time.Duration, c colour, format string, args ...any) {
	line := faint.text("%6.1f s  ", at.Seconds()) + c.text(format, args...)
	if !s.draws() {
		s.print(line)
		return
	}
	s.notes = append(s.notes, line)
	s.notes = s.notes[max(len(s.notes)-maxNotes, 0):]
}

// draw draws a frame, in one write so that it does not flicker.
func (s *screen) draw(frame func(height int) []string) {
	if !s.draws() || s.err != nil {
		return
	}
	width, height, err := s.size()
	if err != nil {
		s.err = fmt.Errorf("size of the terminal: %w", err)
		return
	}
	var text strings.Builder
	switch {
	case s.lines > 0 && (width != s.width || height != s.height):
		// The terminal has wrapped the old lines as it liked.
		text.WriteString("\x1b[2J\x1b[H")
	case s.lines > 0:
		fmt.Fprintf(&text, "\x1b[%dA", s.lines)
	}
	lines := frame(height)
	room := max(height-1-len(lines), 0) // the last line stays free for the cursor
	lines = append(lines, s.notes[max(len(s.notes)-room, 0):]...)
	lines = lines[:min(len(lines), height-1)]
	for _, line := range lines {
		text.WriteString("\r" + fit(line, width-1, s.coloured) + "\x1b[K\n")
	}
	s.width, s.height, s.lines = width, height, len(lines)
	s.write(text.String() + "\x1b[J")
}

// print writes lines without colours.
func (s *screen) print(lines ...string) {
	for _, line := range lines {
		s.write(strings.TrimRight(fit(line, 1000, false), " ") + "\n")
	}
}

func (s *screen) write(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}

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

// colour is a code of the terminal for the colour of a text.
type colour string

const (
	plain colour = ""
	good  colour = "32"
	bad   colour = "31;1"
	faint colour = "90" // a grey, because not every terminal can do faint
	bold  colour = "1"
)

// text is a text in this colour.
func (c colour) text(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if c == plain {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// symbol matches what stands in a line: a code of the terminal, or a character.
var symbol = regexp.MustCompile(`\x1b\[[\d;]*m|.`)

// fit cuts a line to the width of the terminal, so that it stays one line. The codes stay if
// it is to be coloured.
func fit(line string, width int, coloured bool) string {
	return symbol.ReplaceAllStringFunc(line, func(symbol string) string {
		if strings.HasPrefix(symbol, "\x1b") {
			return map[bool]string{true: symbol}[coloured]
		}
		if width--; width < 0 {
			return ""
		}
		return symbol
	})
}
