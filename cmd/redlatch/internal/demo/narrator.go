package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// narrator tells the story: in a terminal as a frame that is drawn over the last one,
// with the newest notes below it, and elsewhere in lines.
type narrator struct {
	out   io.Writer
	notes []note
	err   error // why nothing can be written any more

	size     func() (width, height int, err error) // of the terminal; nil where there is none
	coloured bool

	width, height int // when it was drawn last
	lines         int // of the last frame
}

// note is something that happened.
type note struct {
	after time.Duration // since the start
	mood  mood
	text  string
}

const maxNotes = 10

func (n note) line() line {
	return on(faint, "%6.1f s  ", n.after.Seconds()).and(n.mood, "%s", n.text)
}

// newNarrator draws frames if out is a terminal of at least that height: what has
// scrolled out of it cannot be drawn over.
func newNarrator(out io.Writer, minHeight int) *narrator {
	n := &narrator{out: out}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return n
	}
	size := func() (int, int, error) { return term.GetSize(int(file.Fd())) }
	if _, height, err := size(); err == nil && height >= minHeight {
		n.size, n.coloured = size, os.Getenv("NO_COLOR") == ""
	}
	return n
}

// draws says whether there is a terminal for frames.
func (n *narrator) draws() bool { return n.size != nil }

// note tells of something that happened.
func (n *narrator) note(after time.Duration, m mood, format string, args ...any) {
	told := note{after, m, fmt.Sprintf(format, args...)}
	if !n.draws() {
		n.print(told.line())
		return
	}
	n.notes = append(n.notes, told)
	n.notes = n.notes[max(len(n.notes)-maxNotes, 0):]
}

// draw draws a frame for the height that there is, in one write so that it does not
// flicker.
func (n *narrator) draw(frame func(height int) []line) {
	if !n.draws() || n.err != nil {
		return
	}
	width, height, err := n.size()
	if err != nil {
		n.err = fmt.Errorf("size of the terminal: %w", err)
		return
	}
	var text strings.Builder
	switch {
	case n.lines > 0 && (width != n.width || height != n.height):
		// The terminal has wrapped the old lines as it liked.
		text.WriteString("\x1b[2J\x1b[H")
	case n.lines > 0:
		fmt.Fprintf(&text, "\x1b[%dA", n.lines)
	}
	lines := frame(height)
	room := max(height-1-len(lines), 0) // the last line stays free for the cursor
	for _, told := range n.notes[max(len(n.notes)-room, 0):] {
		lines = append(lines, told.line())
	}
	lines = lines[:min(len(lines), height-1)]
	for _, l := range lines {
		text.WriteString("\r" + l.render(width-1, n.coloured) + "\x1b[K\n")
	}
	n.width, n.height, n.lines = width, height, len(lines)
	n.write(text.String() + "\x1b[J")
}

// print writes lines without colours.
func (n *narrator) print(lines ...line) {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(strings.TrimRight(l.render(1000, false), " ") + "\n")
	}
	n.write(text.String())
}

func (n *narrator) write(text string) {
	if n.err == nil {
		_, n.err = io.WriteString(n.out, text)
	}
}
