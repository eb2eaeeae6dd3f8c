package demo

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// canvas is a place in a terminal where a frame is painted over the last one.
type canvas struct {
	out      io.Writer
	size     func() (width, height int, err error)
	coloured bool

	width, height int // when it was painted last
	lines         int // of the last frame
}

// newCanvas is a canvas on out, if that is a terminal of at least that height.
func newCanvas(out io.Writer, height int) (canvas, bool) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return canvas{}, false
	}
	size := func() (int, int, error) { return term.GetSize(int(file.Fd())) }
	if _, there, err := size(); err != nil || there < height {
		return canvas{}, false
	}
	return canvas{out: out, size: size, coloured: os.Getenv("NO_COLOR") == ""}, true
}

// paint paints a frame for the height that there is, in one write so that it does not
// flicker.
func (v *canvas) paint(frame func(height int) []line) error {
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
	lines := frame(height)
	lines = lines[:min(len(lines), height-1)]
	for _, l := range lines {
		text.WriteString("\r" + l.render(width-1, v.coloured) + "\x1b[K\n")
	}
	text.WriteString("\x1b[J")
	v.width, v.height, v.lines = width, height, len(lines)
	_, err = io.WriteString(v.out, text.String())
	return err
}
