package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

const (
	seenOwner  = "00000000-0000-4000-8000-000000000000:7"
	otherOwner = "11111111-0000-4000-8000-000000000000:8"
)

// startUnlock starts an unlock at a terminal, for a lock that seenOwner holds, and waits
// until it asks.
func startUnlock(t *testing.T, server *redistest.Server) (*exec.Cmd, *proctest.Terminal) {
	t.Helper()
	server.CLI(t, "HSET", "job", seenOwner, "2")
	command := exec.Command("sh", "-c", "exec redlatch unlock --force job")
	command.Env = append(os.Environ(), commandEnv(t, server)...)
	terminal := proctest.StartAtTerminal(t, command)
	terminal.Await(`Lock "job" is held by ` + seenOwner + `, count 2, without end\.`)
	terminal.Await(`Take it away\? \[y/N\] $`)
	return command, terminal
}

func TestUnlockAsksAtATerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for answer, freed := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "yellow\n": false, "\x04": false} {
		command, terminal := startUnlock(t, server)
		terminal.Type(answer)
		command.Wait()
		code, gone := command.ProcessState.ExitCode(), server.CLI(t, "EXISTS", "job") == int64(0)
		if gone != freed || (code == 0) != freed || !freed && code != exitHeld {
			t.Errorf("after %q: exit code %d, freed: %v", answer, code, gone)
		}
		if freed {
			terminal.Await(`job: freed; it was held by ` + seenOwner)
		} else {
			terminal.Await(`lock "job" was left alone`)
		}
	}
}

// A lock without expiry may be somebody's data. A yes at the terminal frees a read-write lock as well.
func TestUnlockFreesADoubtfulReadWriteLockAfterAYes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "job", "mode", "write", seenOwner+":write", "1")
	command := exec.Command("sh", "-c", "exec redlatch unlock --force job")
	command.Env = append(os.Environ(), commandEnv(t, server)...)
	terminal := proctest.StartAtTerminal(t, command)
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
	command, terminal := startUnlock(t, server)
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
	command, terminal := startUnlock(t, server)
	terminal.Type(proctest.CtrlC)
	command.Wait()
	if command.ProcessState.Success() || server.CLI(t, "EXISTS", "job") != int64(1) {
		t.Error("the lock was freed")
	}
}
