package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// pausedPids are the two holders that the output of demo --pause names.
func pausedPids(t *testing.T, p *demoProcess) []int {
	t.Helper()
	p.await(`SIGSTOP to both holders, pid \d+ and \d+\n`)
	var first, second int
	for line := range strings.Lines(p.output()) {
		if n, _ := fmt.Sscanf(line[min(len(line), len("   0.0 s  ")):], "SIGSTOP to both holders, pid %d and %d", &first, &second); n == 2 {
			return []int{first, second}
		}
	}
	t.Fatalf("no processes in %s", p.output())
	return nil
}

func TestDemoPauseShowsBothHalves(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startDemo(t, nil, "--pause", "--lease", "1500ms", "--redis", server.URL())
	pids := pausedPids(t, p)
	output := p.end(0)
	expect(t, output,
		`without a watchdog: the rival enters, \S+ s after the stop`,
		`without a watchdog: the holder learns ErrLost, \S+ ms after it goes on`,
		`with a watchdog: the holder still holds the lock`,
		`with a watchdog: the rival enters, \S+ ms after the release`,
		`(?m)^without a watchdog  the rival entered after .*: the hold is lost$`,
		`(?m)^with a watchdog  renewed \d+ times for it: the hold is kept$`,
		`(?m)^  holder   ━+┄+✗+$`, `(?m)^  holder   ━+┄+\??━+$`, `(?m)^  watchdog ·+▲`)
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left over", pid)
		}
	}
	redistest.Eventually(t, 5*time.Second, func() bool { return len(server.Keys(t, "*")) == 0 }, "nothing is left in Redis")
}

// Whoever has seen enough leaves no process behind, and least of all a stopped one.
func TestDemoPauseThatIsInterruptedLeavesNobodyStopped(t *testing.T) {
	t.Parallel()
	p := startDemo(t, nil, "--pause")
	pids := pausedPids(t, p)
	p.command.Process.Signal(syscall.SIGINT)
	p.end(0)
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is left over", pid)
		}
	}
}

func TestDemoPauseInATerminalDrawsThePicture(t *testing.T) {
	t.Parallel()
	p, keyboard := startInTerminal(t, 80, 24, "--pause")
	p.await(`\x1b\[\d+A\r\x1b\[1mredlatch demo --pause`)
	p.await(`the holder stands still`)
	keyboard.Write([]byte{3})
	p.end(0)
}
