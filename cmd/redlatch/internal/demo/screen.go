package demo

import "io"

// screen is the view in a terminal: one frame, drawn over itself.
type screen struct {
	canvas
	notes []note
}

// minHeight is the height of a terminal in which the frame can be drawn over
// itself: what has scrolled out of it cannot.
const minHeight = 1 + fixedLines + minRows + minNotes

// newView is the view that suits out.
func newView(out io.Writer) view {
	if c, ok := newCanvas(out, minHeight); ok {
		return &screen{canvas: c}
	}
	return &log{out: out}
}

// begin does nothing: the first frame comes with the first tick.
func (v *screen) begin(*scene) error { return nil }

// note keeps a note for the next frame.
func (v *screen) note(n note) error {
	v.notes = append(v.notes, n)
	v.notes = v.notes[max(len(v.notes)-maxNotes, 0):]
	return nil
}

// draw draws the frame over the last one.
func (v *screen) draw(s *scene) error {
	return v.paint(func(height int) []line { return s.frame(v.notes, height) })
}

// end leaves the last frame standing.
func (v *screen) end(s *scene) error { return v.draw(s) }
