package demo

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// screen is the view in a terminal: one frame, drawn over itself.
type screen struct {
	out      io.Writer
	size     func() (width, height int, err error)
	coloured bool

	notes         []note
	width, height int // when it was drawn last
	lines         int // of the last frame
}

// minHeight is the height of a terminal in which the frame can be drawn over
// itself: what has scrolled out of it cannot.
const minHeight = 1 + fixedLines + minRows + minNotes

// newView is the view that suits out.
func newView(out io.Writer) view {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return &log{out: out}
	}
	size := func() (int, int, error) { return term.GetSize(int(file.Fd())) }
	if _, height, err := size(); err != nil || height < minHeight {
		return &log{out: out}
	}
	return &screen{out: out, size: size, coloured: os.Getenv("NO_COLOR") == ""}
}

// begin does nothing: the first frame comes with the first tick.
func (v *screen) begin(*scene) error { return nil }

// note keeps a note for the next frame.
func (v *screen) note(n note) error {
	v.notes = append(v.notes, n)
	v.notes = v.notes[max(len(v.notes)-maxNotes, 0):]
	return nil
}

// draw draws the frame over the last one, in one write so that it does not flicker.
func (v *screen) draw(s *scene) error {
	width, height, err := v.size()
	if err != nil {
		return fmt.Errorf("size of the terminal: %w", err)
	}
	var text strings.Builder
	switch {
	case v.lines > 0 && (width != v.width || height != v.height):
		// The terminal has wrapped the old lines as it liked.
		text.WriteString("\x1b[2J\x1b[H")
	case v.lines > 0:
		fmt.Fprintf(&text, "\x1b[%dA", v.lines)
	}
	lines := s.frame(v.notes, height)
	lines = lines[:min(len(lines), height-1)]
	for _, l := range lines {
		text.WriteString("\r" + l.render(width-1, v.coloured) + "\x1b[K\n")
	}
	text.WriteString("\x1b[J")
	v.width, v.height, v.lines = width, height, len(lines)
	_, err = io.WriteString(v.out, text.String())
	return err
}

// end leaves the last frame standing.
func (v *screen) end(s *scene) error { return v.draw(s) }
