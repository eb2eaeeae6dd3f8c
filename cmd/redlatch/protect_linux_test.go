package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// run --protect, with a watchdog.

// protectedLease is the lease of these runs.
const protectedLease = 4 * time.Second

const protectFlags = "--protect --lease-time 4s --kill-after 400ms "

// beating shows that it is awake, as does a child of it in a session of its own. USR1 ends it.
const beating = `
setsid sh -c 'echo apart $$ >&9; n=0; while [ $n -lt 3000 ]; do echo beat >&9; sleep 0.02; n=$((n+1)); done' &
trap 'echo told >&9; exit 5' TERM
trap 'kill -KILL $!; exit 4' USR1
echo leader $$ >&9
n=0; while [ $n -lt 3000 ]; do echo beat >&9; sleep 0.02; n=$((n+1)); done`

func (r *running) beats() (n int) {
	for _, line := range r.tree.Said() {
		if line == "beat" {
			n++
		}
	}
	return n
}

// startProtected starts a protected run, and a rival for its lock.
func startProtected(t *testing.T, server *redistest.Server, dogFlags ...string) (*running, *rival) {
	t.Helper()
	startDog(t, server.URL(), dogFlags...).awaitReady(true)
	r := startRunning(t, server, protectFlags+"job", beating)
	r.tree.Await("leader")
	r.tree.Await("apart")
	return r, startRival(t, server.URL(), "job")
}

// awaitQuiet waits until both who beat stand still and all their beats are read, and returns when they stood still.
func (r *running) awaitQuiet() (since time.Time) {
	r.t.Helper()
	for _, name := range []string{"leader", "apart"} {
		awaitStopped(r.t, r.tree.Pid(name))
	}
	since = time.Now()
	redistest.Eventually(r.t, 10*time.Second, func() bool {
		before := r.beats()
		time.Sleep(200 * time.Millisecond)
		return r.beats() == before
	}, "all beats are read")
	return since
}

func (r *running) awaitBeat() {
	r.t.Helper()
	before := r.beats()
	redistest.Eventually(r.t, 10*time.Second, func() bool { return r.beats() > before }, "somebody works")
}

// Goal: while redlatch is stopped, the lock is kept and nobody works. Then all go on.
func TestLongAProtectedRunThatIsStoppedGoesOn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r, rival := startProtected(t, server)
	kill(r.command.Process.Pid, syscall.SIGSTOP)
	stopped := time.Now()
	if took := r.awaitQuiet().Sub(stopped); took > protectedLease+2*time.Second {
		t.Errorf("somebody worked for %v", took)
	}
	asleep := r.beats()
	rival.staysOutFor(t, longPause())
	if r.beats() != asleep {
		t.Error("somebody worked under an unconfirmed hold")
	}
	kill(r.command.Process.Pid, syscall.SIGCONT)
	r.awaitBeat()
	rival.staysOutFor(t, 2*protectedLease) // it is renewed again
	r.awaitBeat()
	kill(r.tree.Pid("leader"), syscall.SIGUSR1)
	r.end(4)
	rival.entersWithin(t, 5*time.Second)
	if said := r.tree.Said(); slices.Contains(said, "told") {
		t.Error("the command was asked to end")
	}
}

// Goal: Ctrl-Z and fg at a terminal, with a pause that no unprotected run survives.
func TestLongAProtectedRunThatIsStoppedWithCtrlZGoesOnWithFg(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	startDog(t, server.URL()).awaitReady(true)
	r := newRunning(t, server, "", "")
	script := filepath.Join(r.command.Dir, "script")
	text := `exec 9>"$TREE"; trap 'echo interrupted >&9; kill -KILL $!; exit 9' INT` + beating
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program, terminal := atTerminal(t, server, "env", r.tree.Env(), "bash", "--norc", "--noprofile", "-i")
	terminal.Type("redlatch run " + protectFlags + "job -- bash " + script + "\n")
	r.tree.Await("apart")
	r.awaitBeat()
	rival := startRival(t, server.URL(), "job")
	terminal.Type(proctest.CtrlZ)
	r.awaitQuiet()
	asleep := r.beats()
	rival.staysOutFor(t, longPause())
	if r.beats() != asleep {
		t.Error("somebody worked while nobody renewed the hold")
	}
	terminal.Type("fg; echo the code is $((1000+$?))\n")
	r.awaitBeat()
	rival.staysOutFor(t, 2*protectedLease) // it is renewed again
	r.awaitBeat()
	terminal.Type(proctest.CtrlC)
	terminal.Await("the code is 1009")
	rival.entersWithin(t, 5*time.Second)
	if said := r.tree.Said(); slices.Contains(said, "told") {
		t.Error("the command was asked to end")
	}
	terminal.Type("exit\n")
	program.Wait()
}

// A container that is paused as a whole.
func TestLongAProtectedRunThatIsFrozenAsAWholeGoesOn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	f := proctest.NewFreezer(t, "cgroup2")
	r, rival := startProtected(t, server)
	f.Add(r.command.Process.Pid)
	for range 3 { // until nobody is left who started another meanwhile
		for _, pid := range descendants(t, r.command.Process.Pid) {
			f.Add(pid)
		}
	}
	f.Freeze()
	rival.staysOutFor(t, longPause())
	f.Thaw()
	rival.staysOutFor(t, 2*protectedLease)
	r.awaitBeat()
	kill(r.tree.Pid("leader"), syscall.SIGUSR1)
	r.end(4)
}

// descendants are the processes below one.
func descendants(t *testing.T, of int) (all []int) {
	t.Helper()
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			var pid int
			fmt.Sscan(word, &pid)
			all = append(append(all, pid), descendants(t, pid)...)
		}
	}
	return all
}

// A redlatch that is killed while it is stopped can confirm nothing any more.
func TestLongAProtectedRunWhoseRedlatchIsKilledIsStopped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r, rival := startProtected(t, server)
	kill(r.command.Process.Pid, syscall.SIGSTOP)
	r.awaitQuiet()
	asleep := r.beats()
	kill(r.command.Process.Pid, syscall.SIGKILL)
	r.tree.AwaitGone(5 * time.Second)
	if r.beats() != asleep {
		t.Error("somebody woke up")
	}
	rival.entersWithin(t, 2*protectedLease)
}

// The watchdog's patience has an end.
func TestLongAProtectedRunThatIsStoppedForTooLongIsKilledInItsSleep(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r, rival := startProtected(t, server, "--max-pause", "2s")
	kill(r.command.Process.Pid, syscall.SIGSTOP)
	r.awaitQuiet()
	asleep := r.beats()
	rival.entersWithin(t, 20*time.Second)
	kill(r.command.Process.Pid, syscall.SIGCONT)
	r.tree.AwaitGone(5 * time.Second)
	if r.beats() != asleep {
		t.Error("somebody woke up")
	}
	r.end(exitLost, `lock "job": redlatch stood still for`, "it is held by ")
}

// Goal: a pause across --max-hold, in which the watchdog keeps the lock to that limit, does not hide the limit.
func TestAProtectedRunThatSleepsAcrossItsLimitIsToldOfTheLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	startDog(t, server.URL()).awaitReady(true)
	r := startRunning(t, server, protectFlags+"--max-hold 10s job", beating)
	r.tree.Await("apart")
	kill(r.command.Process.Pid, syscall.SIGSTOP)
	began := time.Now()
	redistest.Eventually(t, 20*time.Second, func() bool { return server.CLI(t, "EXISTS", "job") == int64(0) }, "the lock is free")
	if kept := time.Since(began); kept <= protectedLease {
		t.Errorf("the watchdog has kept the lock for %v", kept)
	}
	kill(r.command.Process.Pid, syscall.SIGCONT)
	r.end(exitLost, `lock "job": --max-hold 10s was over: the command was stopped before`)
}

// A protected run that is awake and cut off has the time that --kill-after promises.
func TestAProtectedRunThatIsCutOffEndsInGoodOrder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	startDog(t, server.URL()).awaitReady(true)
	proxy := redistest.NewProxy(t, server.Addr())
	r := startRunning(t, server, protectFlags+"--redis "+proxy.URL()+" job", beating)
	r.tree.Await("apart")
	renewed := awaitRenewal(t, server, "job")
	proxy.Blackhole(true)
	end := renewed.latestIfLost(time.Now(), protectedLease)
	r.tree.Await("told")
	r.goneBefore(end)
	r.end(exitLost, `lock "job": Redis did not confirm the hold in time`)
}
