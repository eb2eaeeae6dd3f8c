package proctest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo-terminal with a program in its foreground, as a user has it.
type Terminal struct {
	t    testing.TB
	user *os.File

	mu     sync.Mutex
	output strings.Builder
}

// StartAtTerminal starts a program that has a terminal of its own for stdin, stdout and
// stderr. The caller waits for its end.
func StartAtTerminal(t testing.TB, program *exec.Cmd) *Terminal {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unlock(user)
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	program.Stdin, program.Stdout, program.Stderr = side, side, side
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	side.Close()
	terminal := &Terminal{t: t, user: user}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		io.Copy(terminal, user) // until it is closed, or nobody has the other side open
	}()
	t.Cleanup(func() { user.Close(); <-closed })
	return terminal
}

// unlock makes the programs' side usable, and returns its number.
func unlock(user *os.File) (number int, err error) {
	raw, err := user.SyscallConn()
	if err != nil {
		return 0, err
	}
	// Not by Fd, after which Close would wait for a read that is under way.
	failed := raw.Control(func(fd uintptr) {
		if number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err == nil {
			err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		}
	})
	return number, errors.Join(err, failed)
}

// Write takes what the programs at the terminal write.
func (terminal *Terminal) Write(text []byte) (int, error) {
	terminal.mu.Lock()
	defer terminal.mu.Unlock()
	return terminal.output.Write(text)
}

// Output is what the user has seen.
func (terminal *Terminal) Output() string {
	terminal.mu.Lock()
	defer terminal.mu.Unlock()
	return terminal.output.String()
}

// Type presses keys.
func (terminal *Terminal) Type(keys string) {
	terminal.t.Helper()
	if _, err := terminal.user.WriteString(keys); err != nil {
		terminal.t.Fatal(err)
	}
}

// Await waits until the user sees a pattern.
func (terminal *Terminal) Await(pattern string) {
	terminal.t.Helper()
	compiled := regexp.MustCompile(pattern)
	for limit := time.Now().Add(20 * time.Second); !compiled.MatchString(terminal.Output()); {
		if time.Now().After(limit) {
			terminal.t.Fatalf("the user never saw %q:\n%s", pattern, terminal.Output())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The keys that are signals.
const (
	CtrlC = "\x03"
	CtrlZ = "\x1a"
)
