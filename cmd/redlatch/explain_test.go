package main

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

const someOwner = "00000000-0000-4000-8000-000000000000:9"

// Failures of a server or of its settings are told in words that lead to the cause.

func wantSaid(t *testing.T, env []string, code int, text string, arguments ...string) {
	t.Helper()
	said, got := askWith(t, env, arguments...)
	if got != code || !strings.Contains(said, text) || strings.Contains(said, "user_script") {
		t.Errorf("%q: exit code %d, want %d with %q: %s", arguments, got, code, text, said)
	}
}

func TestTheCommandTellsThatMessagesAreDenied(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "silent", "on", ">x", "~*", "+@all", "resetchannels")
	env := append(commandEnv(t, server), serverVariable+"=redis://silent:x@"+server.Addr())
	wantSaid(t, env, 0, "the server refused to publish; waiters are not woken", "run", "job", "--", "true")
	server.CLI(t, "HSET", "held", someOwner, "1")
	wantSaid(t, env, 1, "NOPERM", "run", "-w", "5s", "held", "--", "true")
	wantSaid(t, env, 1, "redlatch: waiting without messages on a channel, channel redisson_lock__channel:{held}", "run", "-w", "5s", "held", "--", "true")
}

func TestTheCommandTellsOfAReadWriteLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := commandEnv(t, server)
	server.CLI(t, "HSET", "table", "mode", "write", someOwner+":write", "1")
	wantSaid(t, env, exitFailure, "it is a read-write lock", "run", "-n", "table", "--", "true")
	wantSaid(t, env, exitFailure, "it is a read-write lock", "run", "-n", "--fair", "table", "--", "true")
}

func TestTheCommandTellsOfAReplicaWithoutAScript(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "REPLICAOF", "127.0.0.1", "1")
	server.CLI(t, "CONFIG", "SET", "replica-serve-stale-data", "yes")
	wantSaid(t, commandEnv(t, server), exitFailure, "READONLY You can't write against a read only replica", "run", "-n", "job", "--", "true")
}
