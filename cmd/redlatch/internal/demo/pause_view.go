package demo

import (
	"fmt"
	"io"
	"strings"
)

// pauseView shows the story of a pause to somebody.
type pauseView interface {
	// draw shows how things stand. It is called often.
	draw(p picture) error
	// note shows what happened, once.
	note(n note)
	// end shows the whole story.
	end(p picture) error
}

// pauseHeight is the height of a terminal in which the picture can be drawn over itself,
// with the last few notes.
const pauseHeight = 20

func newPauseView(out io.Writer) pauseView {
	if c, ok := newCanvas(out, pauseHeight); ok {
		return &pauseScreen{c}
	}
	return &pauseLog{out: out}
}

// pauseScreen is the view in a terminal.
type pauseScreen struct{ canvas }

func (v *pauseScreen) note(note) {}

func (v *pauseScreen) draw(p picture) error {
	return v.paint(func(height int) []line {
		lines := p.lines()
		room := max(height-1-len(lines), 0)
		return append(lines, noteLines(p.notes[max(len(p.notes)-room, 0):])...)
	})
}

func (v *pauseScreen) end(p picture) error { return v.draw(p) }

// pauseLog is the view where there is no terminal: what happens, and at last the picture.
type pauseLog struct {
	out io.Writer
	err error
}

func (v *pauseLog) note(n note) { v.print(noteLines([]note{n})) }

func (v *pauseLog) draw(picture) error { return v.err }

func (v *pauseLog) end(p picture) error {
	v.print(append([]line{nil}, p.lines()...))
	return v.err
}

func (v *pauseLog) print(lines []line) {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(strings.TrimRight(l.render(1000, false), " ") + "\n")
	}
	if v.err == nil {
		_, v.err = io.WriteString(v.out, text.String())
	}
}

func noteLines(notes []note) []line {
	var lines []line
	for _, n := range notes {
		lines = append(lines, on(faint, "%s  ", fmt.Sprintf("%6.1f s", n.after.Seconds())).and(n.mood, "%s", n.text))
	}
	return lines
}
