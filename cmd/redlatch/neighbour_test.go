package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redlatch/redlatch/internal/redistest"
)

// What the command prints of names that somebody else has written into Redis.

// ask runs the command and returns what it says, on stdout and stderr, and its exit code.
func ask(t *testing.T, server *redistest.Server, arguments ...string) (said string, code int) {
	t.Helper()
	return askWith(t, commandEnv(t, server), arguments...)
}

// askWith is ask with something in the environment.
func askWith(t *testing.T, env []string, arguments ...string) (said string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec redlatch "$@"`, "sh"}, arguments...)...)
	command.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		t.Fatalf("redlatch %q: %v, %v", arguments, err, ctx.Err())
	}
	return out.String(), shellCode(command.ProcessState)
}

// forgeries are owners that would like to be something else.
func forgeries() map[string]string {
	return map[string]string{
		"a line":       "x, count 1, 5s left\njob: free",
		"a new line":   "x\r\x1b[2K\x1b[1Ajob: free",
		"a C1 control": "x\u009b2Jfree",
		"a direction":  "x\u202eeerf :boj",
		"no UTF-8":     "x\xff\xfe",
		"a quotation":  `x", count 1, 5s left; "`,
	}
}

// wantPrintable fails if what was said has other than so many lines, or is not printable.
func wantPrintable(t *testing.T, what, said string, lines int) {
	t.Helper()
	if strings.Count(said, "\n") != lines {
		t.Errorf("%s: want %d lines: %q", what, lines, said)
	}
	if strings.ContainsFunc(said, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		t.Errorf("%s: it is not printable: %q", what, said)
	}
}

// Goal: nobody who may write into Redis puts words into the command's mouth. Method: every
// verb on locks with owners that try.
func TestLongOwnersForgeNoLines(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for what, owner := range forgeries() {
		server.CLI(t, "FLUSHALL")
		server.CLI(t, "HSET", "mutex", owner, "1")
		server.CLI(t, "HSET", "fair", owner, "1")
		server.CLI(t, "RPUSH", "redisson_lock_queue:{fair}", owner)
		server.CLI(t, "ZADD", "redisson_lock_timeout:{fair}", "1e15", owner)
		server.CLI(t, "HSET", "rw", "mode", "read", owner, "1", owner+"2", "1")
		for _, one := range []struct {
			lines, code int
			arguments   []string
		}{
			{1, 0, []string{"status", "mutex"}},
			{1, 0, []string{"status", "--json", "mutex"}},
			{2, 0, []string{"status", "fair"}},
			{3, 0, []string{"status", "rw"}},
			{1, 1, []string{"wait", "--wait", "0", "mutex"}},
			{1, 1, []string{"run", "-n", "mutex", "--", "true"}},
			{1, 1, []string{"run", "-n", "rw", "--exclusive", "--", "true"}},
			{1, 1, []string{"unlock", "--force", "--yes", "--if-owner", "nobody", "mutex"}},
			{1, 0, []string{"unlock", "--force", "--yes", "--if-owner", strings.TrimSuffix(owner, "\xff\xfe"), "mutex"}},
		} {
			if owner != strings.ToValidUTF8(owner, "") && one.arguments[0] == "unlock" {
				continue // no argument can have it
			}
			said, code := ask(t, server, one.arguments...)
			if code != one.code {
				t.Errorf("%s: %q: exit code %d, want %d: %s", what, one.arguments, code, one.code, said)
			}
			wantPrintable(t, what+": "+one.arguments[0], said, one.lines)
		}
	}
}

// An owner that status quotes can be copied from there.
func TestUnlockTakesAnOwnerAsStatusNamesIt(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "job", "a worker\x1b", "1")
	if said, code := ask(t, server, "unlock", "--force", "--yes", "--if-owner", `"a worker\x1b"`, "job"); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if server.CLI(t, "EXISTS", "job") != int64(0) {
		t.Error("it was left alone")
	}
}

// Goal: whatever a name costs whoever wrote it, it costs the reader a line. Method: every verb on
// an owner of 8 kB, and on a hash with a million fields, which no script may walk through.
func TestLongTheCommandAnswersSoonWhateverIsThere(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "long", strings.Repeat("x\n", 1<<12), "1")
	everyVerb(t, server, "long", true)
	const fill = `for i = 1, 20000 do redis.call('HSET', KEYS[1], ARGV[1] .. i, 1) end`
	for part := range 50 {
		server.CLI(t, "EVAL", fill, "1", "many", fmt.Sprint(part, ":"))
	}
	everyVerb(t, server, "many", false)
	server.CLI(t, "HSET", "many", "mode", "read")
	everyVerb(t, server, "many", false)
}

// everyVerb runs every verb on a lock that is held, or that is no lock.
func everyVerb(t *testing.T, server *redistest.Server, name string, held bool) {
	t.Helper()
	began := spent(t, server)
	verbs := []struct {
		held, wrong int // the exit codes
		arguments   []string
	}{
		{0, exitFailure, []string{"status", name}},
		{1, exitFailure, []string{"wait", "--wait", "0", name}},
		{1, exitFailure, []string{"run", "-n", name, "--", "true"}},
		{1, exitFailure, []string{"run", "-n", "--fair", name, "--", "true"}},
		{exitFailure, exitFailure, []string{"run", "-n", "--exclusive", name, "--", "true"}},
		{exitFailure, exitFailure, []string{"run", "-n", "--shared", name, "--", "true"}},
		{exitFailure, exitFailure, []string{"unlock", "--force", "--yes", name}},
	}
	for _, one := range verbs {
		said, code := ask(t, server, one.arguments...)
		if held && code != one.held || !held && code != one.wrong || len(said) > 2000 {
			t.Errorf("%q: exit code %d; %d bytes: %.2000s", one.arguments, code, len(said), said)
		}
		wantPrintable(t, name+": "+one.arguments[0], said, 1)
	}
	if took := spent(t, server) - began; took > time.Second {
		t.Errorf("%s: %d verbs kept the server busy for %v", name, len(verbs), took)
	}
}

// spent is the processor time that a server has used: the machine may have others to serve.
func spent(t *testing.T, server *redistest.Server) (total time.Duration) {
	t.Helper()
	for line := range strings.Lines(server.CLI(t, "INFO", "cpu").(string)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			d := redistest.Must(time.ParseDuration(value + "s"))
			total += d
		}
	}
	return total
}
