package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

const (
	seenOwner  = "00000000-0000-4000-8000-000000000000:7"
	otherOwner = "11111111-0000-4000-8000-000000000000:8"
)

// startUnlock starts an unlock at a terminal, for a lock that seenOwner holds for so many milliseconds or without end,
// and waits until it asks.
func startUnlock(t *testing.T, server *redistest.Server, flags, expiry string) (*exec.Cmd, *proctest.Terminal) {
	t.Helper()
	server.CLI(t, "HSET", "job", seenOwner, "2")
	if expiry != "0" {
		server.CLI(t, "PEXPIRE", "job", expiry)
	}
	command, terminal := atUnlock(t, server, flags)
	terminal.Await(`Lock "job" is held by ` + seenOwner + `, count 2, `)
	terminal.Await(`Take it away\? \[y/N\] $`)
	return command, terminal
}

func TestUnlockAsksAtATerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for flags, expiry := range map[string]string{"--force": "0", "-w 50ms": "60000"} { // which asks the holder before
		for answer, freed := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "yellow\n": false, "\x04": false} {
			command, terminal := startUnlock(t, server, flags, expiry)
			terminal.Type(answer)
			command.Wait()
			code, gone := command.ProcessState.ExitCode(), server.CLI(t, "EXISTS", "job") == int64(0)
			if gone != freed || (code == 0) != freed || !freed && code != exitHeld {
				t.Errorf("%s, after %q: exit code %d, freed: %v", flags, answer, code, gone)
			}
			if freed {
				terminal.Await(`job: freed; it was held by ` + seenOwner)
			} else {
				terminal.Await(`lock "job" was left alone`)
			}
			if asked := strings.Contains(terminal.Output(), "was not told: "); asked != (flags != "--force") {
				t.Errorf("%s: the holder was asked: %v", flags, asked)
			}
		}
	}
}

// A lock without expiry may be somebody's data. A yes at the terminal frees a read-write lock as well.
func TestUnlockFreesADoubtfulReadWriteLockAfterAYes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "job", "mode", "write", seenOwner+":write", "1")
	command, terminal := atUnlock(t, server, "--force")
	terminal.Await(`Take it away\? \[y/N\] $`)
	terminal.Type("y\n")
	command.Wait()
	terminal.Await(`job: freed; it was held by ` + seenOwner)
	if code := command.ProcessState.ExitCode(); code != 0 || server.CLI(t, "EXISTS", "job") != int64(0) {
		t.Errorf("exit code %d", code)
	}
}

// Whoever says yes has agreed to take the lock from the holder that was named.
func TestUnlockLeavesTheNextHolderAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	command, terminal := startUnlock(t, server, "--force", "0")
	server.CLI(t, "DEL", "job")
	server.CLI(t, "HSET", "job", otherOwner, "1")
	terminal.Type("y\n")
	command.Wait()
	terminal.Await(`lock "job" is held by ` + otherOwner + `.* by now; it was left alone`)
	if code := command.ProcessState.ExitCode(); code != exitHeld || server.CLI(t, "HGET", "job", otherOwner) != "1" {
		t.Errorf("exit code %d", code)
	}
}

func TestCtrlCIsANo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	command, terminal := startUnlock(t, server, "--force", "0")
	terminal.Type(proctest.CtrlC)
	command.Wait()
	if command.ProcessState.Success() || server.CLI(t, "EXISTS", "job") != int64(1) {
		t.Error("the lock was freed")
	}
}
