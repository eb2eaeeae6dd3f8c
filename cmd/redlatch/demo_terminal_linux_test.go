package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/internal/redistest"
)

// openTerminal makes a pseudo-terminal: what a user sees and types on, and what the
// program has for its stdin and stdout.
func openTerminal(t *testing.T, columns, rows uint16) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, program
}

// startInTerminal starts a demonstration as a shell does: in the foreground of a
// terminal of its own.
func startInTerminal(t *testing.T, columns, rows uint16, flags ...string) (p *demoProcess, keyboard io.Writer) {
	t.Helper()
	user, program := openTerminal(t, columns, rows)
	p = newDemoProcess(t, []string{"TERM=xterm", "NO_COLOR="}, flags...)
	p.command.Stdin, p.command.Stdout, p.command.Stderr = program, program, program
	p.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.seen = make(chan struct{})
	p.start()
	program.Close()
	go func() {
		defer close(p.seen)
		io.Copy(p, user) // until nobody has the terminal open any more
	}()
	return p, user
}

func TestDemoInATerminalDrawsAViewAndHeedsCtrlC(t *testing.T) {
	t.Parallel()
	p, keyboard := startInTerminal(t, 80, 24, "--workers", "3", "--for", "60s")
	p.await(`\x1b\[\d+A\r`)
	p.await(`w2.*HOLDS`)
	p.await(`TTL     \[\x1b\[32m#`)
	if _, err := keyboard.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	output := p.end(0)
	expect(t, output, `\x1b\[\d+A\r\x1b\[1mredlatch demo`, `interrupted after`, `sound: `)
	if strings.Contains(output, "signal: ") {
		t.Errorf("Ctrl-C ended a worker:\n%s", output)
	}
}

func TestDemoInATerminalTooLowForTheViewWritesLines(t *testing.T) {
	t.Parallel()
	p, keyboard := startInTerminal(t, 80, 10, "--workers", "3", "--for", "60s")
	p.await(`1\.\d s  held by`)
	keyboard.Write([]byte{3})
	if output := p.end(0); strings.Contains(output, "\x1b") {
		t.Errorf("codes of a terminal in\n%q", output)
	}
}

// A worker that waits for a server which does not answer cannot leave at once; the
// kernel ends it.
func TestAStuckWorkerDiesWithADemoThatIsKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startDemo(t, nil, "--workers", "3", "--for", "60s", "--redis", server.URL())
	p.await(`increments [1-9]`)
	server.Freeze()
	p.command.Process.Kill()
	for _, pid := range pidsIn(p.output()) {
		redistest.Eventually(t, 1500*time.Millisecond, func() bool { return !alive(pid) }, "the worker is gone")
	}
}
