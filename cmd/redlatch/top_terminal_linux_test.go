package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: at a terminal top redraws one page, takes new locks in, and leaves the terminal as it was.
// Method: q, Ctrl-C and SIGINT end it; what is behind the second page must be the way back.
func TestTopAtATerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, end := range map[string]func(*exec.Cmd, *proctest.Terminal){
		"q":      func(_ *exec.Cmd, terminal *proctest.Terminal) { terminal.Type("q") },
		"Ctrl-C": func(_ *exec.Cmd, terminal *proctest.Terminal) { terminal.Type("\x03") },
		"SIGINT": func(command *exec.Cmd, _ *proctest.Terminal) { _ = command.Process.Signal(os.Interrupt) },
	} {
		server.CLI(t, "FLUSHALL")
		server.CLI(t, "HSET", "first", seenOwner, "1")
		command := exec.Command("sh", "-c", "exec redlatch top --every 50ms")
		command.Env = append(os.Environ(), commandEnv(t, server)...)
		terminal := proctest.StartAtTerminal(t, command)
		terminal.Await(`\x1b\[\?1049h\x1b\[\?25l\x1b\[\?7l`) // a name of wide characters takes one line, too
		terminal.Await(`\x1b\[H[^\n]*locks: 1  waiting: 0  findings: 1\x1b\[K\r\n`)
		server.CLI(t, "HSET", "a\x1b[2Jb", otherOwner, "1")
		terminal.Await(`locks: 2  waiting: 0  findings: 2\x1b\[K\r\n(?s:.*)"a\\x1b\[2Jb" +mutex`)
		end(command, terminal)
		command.Wait()
		terminal.Await(`\x1b\[\?7h\x1b\[\?25h\x1b\[\?1049l$`)
		if code := command.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}

// Goal: top says at once that the server is gone, also of one lock, of which there is no look meanwhile. Otherwise the
// page goes on to show a holder. The next look is below that message, and the one after it has none.
func TestTopSaysThatTheServerIsGone(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"first", "f*"} {
		server := redistest.Start(t)
		server.CLI(t, "HSET", "first", seenOwner, "1")
		command := exec.Command("sh", "-c", "exec redlatch top --every 50ms '"+pattern+"'")
		command.Env = append(os.Environ(), commandEnv(t, server)...)
		terminal := proctest.StartAtTerminal(t, command)
		terminal.Await(`\x1b\[H[^\n]*locks: 1 `)
		server.Kill()
		terminal.Await(`\x1b\[Hredlatch: [^\n]*` + server.Addr())
		server.Restart(t)
		terminal.Await(`\x1b\[Hredlatch: (?s:.*)\x1b\[H[^\n]*locks: [01] [^\x1b]*\x1b\[K`)
		terminal.Type("q")
		_ = command.Wait()
	}
}
