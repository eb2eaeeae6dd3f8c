package main

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// startInTerminal starts a demonstration as a shell does: in the foreground of a
// terminal of its own, with 80 columns.
func startInTerminal(t *testing.T, rows int, flags ...string) (*demoProcess, *proctest.Terminal) {
	t.Helper()
	p := newDemoProcess(t, flags...)
	shell := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`stty rows %d cols 80; exec "$@"`, rows), "sh"}, p.Args...)...)
	shell.Env = append(p.Env, "TERM=xterm", "NO_COLOR=")
	p.Cmd = shell
	terminal := proctest.StartAtTerminal(t, p.Cmd)
	p.said = terminal.Output
	p.watch()
	return p, terminal
}

func TestDemoInATerminalDrawsAViewAndHeedsCtrlC(t *testing.T) {
	t.Parallel()
	p, terminal := startInTerminal(t, 24, "--workers", "3", "--for", "60s")
	p.await(`\x1b\[\d+A\r\x1b\[1mredlatch demo`, `w2.*HOLDS`, `TTL \[\x1b\[32m#`)
	terminal.Type(proctest.CtrlC)
	terminal.Await(`interrupted after(?s:.*)\r\nsound: `)
	if output := p.end(0); strings.Contains(output, "signal: ") {
		t.Errorf("Ctrl-C ended a worker:\n%s", output)
	}
}

func TestDemoInATerminalTooLowForTheViewWritesLines(t *testing.T) {
	t.Parallel()
	p, terminal := startInTerminal(t, 10, "--workers", "3", "--for", "60s")
	p.await(`1\.\d s  held by`)
	terminal.Type(proctest.CtrlC)
	if output := p.end(0); strings.Contains(output, "\x1b") {
		t.Errorf("codes of a terminal in\n%q", output)
	}
}

func TestDemoPauseInATerminalDrawsThePicture(t *testing.T) {
	t.Parallel()
	p, terminal := startInTerminal(t, 24, "--pause")
	p.await(`\x1b\[\d+A\r\x1b\[1mredlatch demo --pause`, `the holder stands still`)
	terminal.Type(proctest.CtrlC)
	p.end(0)
}

func TestLongDemoPauseShowsBothHalves(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startDemo(t, "--pause", "--lease", "1500ms", "--redis", server.URL())
	expect(t, p.end(0),
		`both holders: SIGSTOP, pid \d+ and \d+$`,
		`without a watchdog: the rival enters, \S+ m?s after SIGSTOP$`,
		`without a watchdog: the holder learns ErrLost, \S+ ms after SIGCONT$`,
		`with a watchdog: the holder still holds the lock, \S+ ms after SIGCONT$`,
		`with a watchdog: the rival enters, \S+ ms after release$`,
		`^without a watchdog  the rival entered after .*: the hold is lost$`,
		`^with a watchdog  renewed \d+ times for it: the hold is kept$`,
		`^  holder   ━+┄+✗+$`, `^  holder   ━+┄+\??━+$`, `^  watchdog ·+▲`)
	redistest.Eventually(t, 5*time.Second, func() bool { return len(server.Keys(t, "*")) == 0 }, "nothing is left in Redis")
}

// Whoever has seen enough leaves no process behind, and least of all a stopped one.
func TestDemoPauseThatIsInterruptedLeavesNobodyStopped(t *testing.T) {
	t.Parallel()
	p := startDemo(t, "--pause")
	p.await(`both holders: SIGSTOP, pid \d+ and \d+\n`)
	p.Process.Signal(syscall.SIGINT)
	if output := p.end(0); len(pidsIn(output)) != 2 {
		t.Errorf("no two processes in\n%s", output)
	}
}

// An actor that waits for a server which does not answer cannot leave at once; the
// kernel ends it.
func TestAStuckWorkerDiesWithADemoThatIsKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startDemo(t, "--workers", "3", "--for", "60s", "--redis", server.URL())
	p.await(`increments [1-9]`)
	server.Freeze()
	p.Process.Kill()
	awaitGone(t, pidsIn(p.said()), 3, 2500*time.Millisecond) // before the command times out
}
