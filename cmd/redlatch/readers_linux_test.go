package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a list that may be cut is for the eyes. What run and unlock decide, they ask Redis about one owner.

// readers makes a lock that so many readers hold for an hour. The last of them is readerOf(n).
func readers(t *testing.T, server *redistest.Server, lock string, n int) {
	t.Helper()
	server.CLI(t, "EVAL", `
redis.call('HSET', KEYS[1], 'mode', 'read')
for i = 1, ARGV[1] do
  local owner = '00000000-0000-4000-8000-000000000000:' .. i
  redis.call('HSET', KEYS[1], owner, 1)
  redis.call('SET', '{' .. KEYS[1] .. '}:' .. owner .. ':rwlock_timeout:1', 1, 'PX', 3600000)
end
redis.call('PEXPIRE', KEYS[1], 3600000)`, "1", lock, strconv.Itoa(n))
}

func readerOf(n int) string { return "00000000-0000-4000-8000-000000000000:" + strconv.Itoa(n) }

const many = 4000 // of which a list names about a quarter

// called runs the command, and returns its exit code and what it printed.
func called(t *testing.T, server *redistest.Server, arguments ...string) (code int, output string) {
	t.Helper()
	command := exec.Command("sh", append([]string{"-c", `exec redlatch "$@"`, "sh"}, arguments...)...)
	command.Env = append(os.Environ(), commandEnv(t, server)...)
	text, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(text)
}

func TestAReaderOfVeryManyKeepsItsCommand(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", many)
	all := strings.Repeat("redlatch run --shared --lease 6s job -- sleep 2.5 & ", 3) // which looks after 2 s
	command := exec.Command("sh", "-c", all+"wait")
	command.Env = append(os.Environ(), commandEnv(t, server)...)
	if output, err := command.CombinedOutput(); err != nil || len(output) > 0 {
		t.Errorf("%v: %s", err, output)
	}
}

func TestALockInsideThatOfOneReaderOfVeryMany(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", many)
	for range 3 {
		code, output := called(t, server, "run", "--shared", "job", "--", "timeout", "5", "redlatch", "run", "--exclusive", "job", "--", "true")
		if code != exitFailure || !strings.Contains(output, "under which this command runs") {
			t.Errorf("exit code %d: %s", code, output)
		}
	}
}

// The deadline inside is that of the reader, and not that of the reader who stays longest.
func TestTheDeadlineInsideIsThatOfTheOwner(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", 3)
	code, output := called(t, server, "run", "--shared", "--lease-time", "20s", "job", "--", "redlatch", "run", "--shared", "--reentrant", "job", "--", "sh", "-c", "echo $REDLATCH_DEADLINE")
	deadline, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(output))
	if left := time.Until(deadline); code != 0 || err != nil || left > 20*time.Second || left < 5*time.Second {
		t.Errorf("exit code %d, %v left, %v: %s", code, left, err, output)
	}
}

func TestUnlockFindsEachOfVeryManyReaders(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", many)
	for n := 1; n <= 5; n++ {
		owner := readerOf(n * many / 5)
		if code, output := called(t, server, "unlock", "--force", "--yes", "--if-owner", owner, "job"); code != 0 || !strings.Contains(output, "taken from "+owner) {
			t.Errorf("exit code %d: %s", code, output)
		}
	}
	if n := server.CLI(t, "HLEN", "job"); n != int64(many-5+1) {
		t.Errorf("the lock has %v fields", n)
	}
}

func TestStatusCountsAllReaders(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", many)
	code, output := called(t, server, "status", "job")
	first, rest, _ := strings.Cut(output, "\n")
	named := strings.Count(rest, "\n") - 1
	if code != 0 || !strings.HasPrefix(first, "job: held by "+strconv.Itoa(many)+" readers") ||
		!strings.HasSuffix(rest, "  and "+strconv.Itoa(many-named)+" more\n") {
		t.Errorf("exit code %d: %s", code, first)
	}
}

// atUnlock starts an unlock at a terminal that asks.
func atUnlock(t *testing.T, server *redistest.Server, flags string) (*exec.Cmd, *proctest.Terminal) {
	t.Helper()
	command := exec.Command("sh", "-c", "exec redlatch unlock "+flags+" job")
	command.Env = append(os.Environ(), commandEnv(t, server)...)
	terminal := proctest.StartAtTerminal(t, command)
	return command, terminal
}

// Whoever says yes to two readers has not agreed to take the lock from a writer.
func TestUnlockTakesALockFromThoseItHasShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", 2)
	command, terminal := atUnlock(t, server, "--force")
	terminal.Await(readerOf(2))
	terminal.Await(`Take it away\? \[y/N\] $`)
	server.CLI(t, "DEL", "job")
	server.CLI(t, "HSET", "job", "mode", "write", otherOwner+":write", "1")
	terminal.Type("y\n")
	command.Wait()
	terminal.Await(`lock "job" is held by ` + otherOwner + `.* by now; it was left alone`)
	if code := command.ProcessState.ExitCode(); code != exitHeld || server.CLI(t, "HGET", "job", otherOwner+":write") != "1" {
		t.Errorf("exit code %d", code)
	}
}

// A reader that has entered meanwhile keeps its hold, and the report says so.
func TestUnlockLeavesTheNextReaderAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", 2)
	command, terminal := atUnlock(t, server, "--force")
	terminal.Await(`Take it away\? \[y/N\] $`)
	readers(t, server, "job", 3)
	terminal.Type("y\n")
	command.Wait()
	terminal.Await(`job: taken from 2 owners; it is held by ` + readerOf(3))
	if code := command.ProcessState.ExitCode(); code != 0 || server.CLI(t, "HLEN", "job") != int64(2) {
		t.Errorf("exit code %d", code)
	}
}

// Nobody can agree to what does not fit on the screen.
func TestUnlockDoesNotAskAboutReadersThatItCannotShow(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", many)
	command, terminal := atUnlock(t, server, "--force")
	terminal.Await("more owners than can be shown.*--yes")
	command.Wait()
	if code := command.ProcessState.ExitCode(); code != exitHeld || server.CLI(t, "EXISTS", "job") != int64(1) {
		t.Errorf("exit code %d", code)
	}
}

// Goal: --force with -w takes the lock only from those that it has asked, also if it can ask nobody.
func TestUnlockTakesNothingFromReadersThatItCannotAsk(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", many)
	code, output := called(t, server, "unlock", "--force", "--yes", "-w", "10s", "job")
	if code != exitHeld || !strings.Contains(output, "nobody was asked for it: they are more than can be named") || server.CLI(t, "HLEN", "job") != int64(many+1) {
		t.Errorf("exit code %d: %s", code, output)
	}
	if code, output := called(t, server, "unlock", "--force", "--yes", "job"); code != 0 || server.CLI(t, "EXISTS", "job") != int64(0) {
		t.Errorf("without -w: exit code %d: %s", code, output)
	}
}

// Goal: a reader that a later list does not name has not given the lock back.
func TestUnlockWaitsForEachReaderThatItHasAsked(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	readers(t, server, "job", 8)
	command, terminal := atUnlock(t, server, "--yes -w 5s")
	terminal.Await("asked " + readerOf(8))
	readers(t, server, "job", many)
	command.Wait()
	terminal.Await(`lock "job" is still held by ` + strconv.Itoa(many) + ` readers.*; and 5 more`)
	if code := command.ProcessState.ExitCode(); code != exitHeld {
		t.Errorf("exit code %d", code)
	}
}
