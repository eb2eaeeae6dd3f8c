package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// screen is a terminal that is redrawn. It has a second page of its own, so that what was there before
// is there again afterwards.
type screen struct {
	before *term.State // of the keyboard, nil if stdin is no terminal
	title  string      // a failure since the latest look, "" if there was none
}

const (
	enterPage = "\x1b[?1049h\x1b[?25l\x1b[?7l" // without a cursor; a line that is too wide is cut
	leavePage = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H"
	endOfLine = "\x1b[K\r\n"
	endOfPage = "\x1b[J"
)

// openScreen takes the terminal. The keys q and Ctrl-C call quit.
func openScreen(quit context.CancelFunc) *screen {
	s := &screen{}
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		s.before, _ = term.MakeRaw(in)
	}
	if s.before != nil {
		go readKeys(quit) // ends with the process: a read of a terminal cannot be interrupted
	}
	fmt.Print(enterPage)
	return s
}

const ctrlC = 3

func readKeys(quit context.CancelFunc) {
	key := make([]byte, 1)
	for {
		if n, err := os.Stdin.Read(key); err != nil || n == 1 && (key[0] == 'q' || key[0] == ctrlC) {
			quit()
			return
		}
	}
}

func (s *screen) close() {
	fmt.Print(leavePage)
	if s.before != nil {
		_ = term.Restore(int(os.Stdin.Fd()), s.before)
	}
}

// fail shows a failure above the latest look, and above the next one.
func (s *screen) fail(err error) {
	s.title = "redlatch: " + protocol.Line(err.Error())
	fmt.Print(home + s.title + "\x1b[K")
}

// draw shows as much of a look as fits.
func (s *screen) draw(cmd *cobra.Command, one inspect.Snapshot) error {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width < 1 || height < 1 {
		width, height = 80, 24
	}
	lines := append([]string{cmp.Or(s.title, summary(one))}, strings.Split(strings.TrimSuffix(lockTable(one.Locks, brief), "\n"), "\n")...)
	s.title = ""
	var text strings.Builder
	text.WriteString(home)
	for n, line := range lines[:min(len(lines), height)] {
		text.WriteString(fit(line, width))
		if n < min(len(lines), height)-1 {
			text.WriteString(endOfLine)
		}
	}
	text.WriteString("\x1b[K" + endOfPage)
	_, err = fmt.Fprint(cmd.OutOrStdout(), text.String())
	return err
}

// fit cuts a line to the width of the terminal.
func fit(line string, width int) string {
	runes := []rune(line)
	return string(runes[:min(len(runes), width)])
}

// isDenied says that trying again does not help.
func isDenied(err error) bool {
	_, denied := errors.AsType[*inspect.RightError](err)
	return denied
}
