package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// What is done to redlatch and to its switch while the command runs, with real processes.

// unruly is a script whose processes stay as long as they can: they ignore signals, detach
// themselves by a second fork, have sessions of their own, and start others all the time. All
// would end by themselves within a minute.
const unruly = `
trap '' TERM INT HUP QUIT USR1 USR2
live='n=0; while [ $n -lt 300 ]; do sleep 0.2; n=$((n+1)); done'
sh -c "echo grandchild \$\$ >&9; $live" &
setsid sh -c "echo apart \$\$ >&9; $live" &
(setsid sh -c "echo orphan \$\$ >&9; $live" &)
body='sleep 0.1; n=$(($0-1)); [ $n -gt 0 ] && { setsid sh -c "$1" $n "$1" & }; exit'
setsid sh -c "$body" 100 "$body" &
echo leader $$ >&9
eval "$live"`

func (r *running) awaitUnruly() (holder, swtch int) {
	r.t.Helper()
	for _, name := range []string{"leader", "grandchild", "apart", "orphan"} {
		r.tree.Await(name)
	}
	return r.command.Process.Pid, parentOf(r.t, r.tree.Pid("leader"))
}

// parentOf is the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat := redistest.Must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))
	fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
	return redistest.Must(strconv.Atoi(fields[1]))
}

// attack is something that happens to a run.
type attack struct {
	name string
	do   func(r *running, holder, swtch int, dice *rand.Rand)
}

func kill(pid int, number syscall.Signal) { syscall.Kill(pid, number) }

// attacks leave one of the two processes able to act.
var attacks = []attack{
	{"redlatch is killed", func(_ *running, holder, _ int, _ *rand.Rand) { kill(holder, syscall.SIGKILL) }},
	{"redlatch is stopped", func(_ *running, holder, _ int, _ *rand.Rand) { kill(holder, syscall.SIGSTOP) }},
	{"redlatch is stopped, then killed", func(_ *running, holder, _ int, dice *rand.Rand) {
		kill(holder, syscall.SIGSTOP)
		time.Sleep(time.Duration(dice.Int64N(int64(time.Second))))
		kill(holder, syscall.SIGKILL)
	}},
	{"redlatch is frozen", func(r *running, holder, _ int, _ *rand.Rand) { freeze(r.t, holder, "cgroup2") }},
	{"redlatch is frozen for good", func(r *running, holder, _ int, _ *rand.Rand) { freeze(r.t, holder, "cgroup") }},
	{"the switch is killed", func(_ *running, _, swtch int, _ *rand.Rand) { kill(swtch, syscall.SIGKILL) }},
	{"the switch is stopped and Redis cut off", func(r *running, _, swtch int, _ *rand.Rand) {
		kill(swtch, syscall.SIGSTOP)
		r.proxy.Blackhole(true)
	}},
	{"the switch is frozen and Redis cut off", func(r *running, _, swtch int, _ *rand.Rand) {
		freeze(r.t, swtch, "cgroup2")
		r.proxy.Blackhole(true)
	}},
	{"the switch is frozen for good and Redis cut off", func(r *running, _, swtch int, _ *rand.Rand) {
		freeze(r.t, swtch, "cgroup")
		r.proxy.Blackhole(true)
	}},
	{"Redis is cut off", func(r *running, _, _ int, _ *rand.Rand) { r.proxy.Blackhole(true) }},
	{"the switch is killed when Redis is cut off", func(r *running, _, swtch int, dice *rand.Rand) {
		r.proxy.Blackhole(true)
		time.Sleep(time.Duration(dice.Int64N(int64(3 * time.Second))))
		kill(swtch, syscall.SIGKILL)
	}},
}

// freeze freezes one process until the end of the test.
func freeze(t *testing.T, pid int, kind string) {
	f := proctest.NewFreezer(t, kind)
	f.Add(pid)
	f.Freeze()
}

// Goal: whatever happens to redlatch or to its switch, the last sign of life of everything under
// the lock comes before the lock can be somebody else's. Method: random rounds, each on a lock of
// its own. A pipe tells when the last process is gone, and Redis how long the lock had left.
func TestLongTheLastSignOfLifeComesBeforeTheEndOfTheLock(t *testing.T) {
	server := redistest.Start(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var mu sync.Mutex
	smallest, rounds := map[string]time.Duration{}, 0
	t.Run("rounds", func(t *testing.T) {
		for i := range len(attacks) * redistest.Stretch(1) {
			a := attacks[i%len(attacks)]
			t.Run(fmt.Sprint(a.name, " ", i), func(t *testing.T) {
				t.Parallel()
				got := survive(t, server, a, fmt.Sprint("job-", i), rand.New(rand.NewPCG(seed, uint64(i))))
				mu.Lock()
				defer mu.Unlock()
				if before, known := smallest[a.name]; !known || got < before {
					smallest[a.name] = got
				}
				rounds++
			})
		}
	})
	for name, margin := range smallest {
		t.Logf("%8v left: %s", margin.Round(time.Millisecond), name)
	}
	t.Logf("%d rounds", rounds)
}

// survive is one round, which returns how long the lock had left when the last was gone.
func survive(t *testing.T, server *redistest.Server, a attack, lock string, dice *rand.Rand) time.Duration {
	proxy := redistest.NewProxy(t, server.Addr())
	r := startRunning(t, server, "--lease-time 4s --kill-after 500ms --redis "+proxy.URL()+" "+lock, unruly)
	r.proxy = proxy
	holder, swtch := r.awaitUnruly()
	time.Sleep(time.Duration(dice.Int64N(int64(time.Second)))) // at any moment between two renewals
	stop := watched(t, server, lock)
	a.do(r, holder, swtch, dice)
	r.tree.AwaitGone(20 * time.Second)
	left := margin(stop(), r.tree.Last)
	if left <= 0 {
		t.Errorf("somebody was there when the lock had %v left", left)
	}
	return left
}

// If both are killed at once, the kernel kills the command. This is all that can be had.
func TestTheCommandDiesWithBoth(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "job", `trap '' TERM; echo leader $$ >&9; n=0; while [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done`)
	leader := r.tree.Pid("leader")
	swtch := parentOf(t, leader)
	kill(swtch, syscall.SIGKILL)
	kill(r.command.Process.Pid, syscall.SIGKILL)
	redistest.Eventually(t, 5*time.Second, func() bool { return syscall.Kill(leader, 0) != nil }, "the command is gone")
}

// A switch that somebody kills takes the command along. The lock is free when all are gone.
func TestASwitchThatIsKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "job", unruly)
	_, swtch := r.awaitUnruly()
	kill(swtch, syscall.SIGKILL)
	r.tree.AwaitGone(10 * time.Second)
	r.end(exitFailure, `lock "job": the process that stops the command in time was killed`)
	if server.CLI(t, "EXISTS", "job") != int64(0) {
		t.Error("the lock is not free")
	}
}

// Files that whoever started redlatch has opened are the command's, under their numbers; the pipes
// between redlatch and its switch are not.
func TestTheCommandHasTheFilesThatItWasGiven(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	out := filepath.Join(t.TempDir(), "out")
	r := newRunning(t, server, "job", `exec 9>&-; { cat <&3; cat <&7; ls -l /proc/$$/fd; } >`+out)
	r.command.Args[2] = `printf three >3; printf seven >7; exec 3<3 7<7; ` + r.command.Args[2]
	r.start()
	r.end(0)
	text, _ := os.ReadFile(out)
	if !strings.HasPrefix(string(text), "threeseven") {
		t.Errorf("it read %q", text)
	}
	for _, pipe := range regexp.MustCompile(`pipe:\[\d+\]`).FindAllString(string(text), -1) {
		if ours, _ := exec.Command("ls", "-l", fmt.Sprintf("/proc/%d/fd", os.Getpid())).Output(); !strings.Contains(string(ours), pipe) {
			t.Errorf("it had a pipe that nobody gave it: %s", text)
		}
	}
}

// A service manager sends a signal to every process of a service.
func TestASignalForTheSwitchIsNotPassedOn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "job", `
		trap 'echo got >&9' TERM HUP INT
		trap 'exit 6' USR1
		echo leader $$ >&9
		n=0; while [ $n -lt 600 ]; do sleep 0.05; n=$((n+1)); done`)
	swtch := parentOf(t, r.tree.Pid("leader"))
	for _, number := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTSTP} {
		kill(swtch, number)
	}
	time.Sleep(200 * time.Millisecond) // nothing is to happen
	kill(r.command.Process.Pid, syscall.SIGUSR1)
	r.end(6)
	if said := r.tree.Said(); len(said) != 1 {
		t.Errorf("the command got it: %q", said)
	}
	if err := syscall.Kill(swtch, 0); err != syscall.ESRCH {
		t.Errorf("the switch was left for others to wait for: %v", err)
	}
}

// Who kills one of the two by its name, or by its process group, leaves the other.
func TestTheTwoHaveDifferentNames(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "job", `echo leader $$ >&9; read x </dev/zero & wait`)
	swtch := parentOf(t, r.tree.Pid("leader"))
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", swtch))
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", swtch))
	if string(name) != "rl-switch\n" || strings.Contains(string(line), "redlatch") || strings.Contains(string(line), "leader") {
		t.Errorf("the switch is called %q and %q", name, line)
	}
	if group, err := syscall.Getpgid(swtch); group != swtch || err != nil {
		t.Errorf("the switch %d is in process group %d, %v", swtch, group, err)
	}
	kill(r.command.Process.Pid, syscall.SIGTERM)
	r.end(143)
}

// What everything sleeps through nobody can prevent: but what wakes up is stopped at once.
func TestEverythingIsFrozenAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := newRunning(t, server, "--lease-time 3s job", unruly)
	f := proctest.NewFreezer(t, "cgroup2")
	r.command.Args[2] = `read go; ` + r.command.Args[2]
	stdin := redistest.Must(r.command.StdinPipe())
	r.start()
	f.Add(r.command.Process.Pid) // before it has children
	fmt.Fprintln(stdin, "go")
	r.awaitUnruly()
	f.Freeze()
	redistest.Eventually(t, 10*time.Second, func() bool { return server.CLI(t, "EXISTS", "job") == int64(0) }, "the lock is free")
	f.Thaw()
	thawed := time.Now()
	r.tree.AwaitGone(10 * time.Second)
	if took := r.tree.Last.Sub(thawed); took > 3*time.Second {
		t.Errorf("somebody was there %v after the thaw", took)
	}
	r.end(exitLost, `lock "job": redlatch stood still for`, "it is free now")
}

// A debugger, or whoever else stops redlatch alone.
func TestARedlatchThatIsStoppedSaysSoWhenItGoesOn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--lease-time 4s job", unruly)
	holder, _ := r.awaitUnruly()
	awaitRenewal(t, server, "job") // a pause shortly before the next one would be too short
	kill(holder, syscall.SIGSTOP)
	r.tree.AwaitGone(10 * time.Second)
	kill(holder, syscall.SIGCONT)
	r.end(exitLost, `lock "job": redlatch stood still for`, "did not renew the hold: the command was stopped")
}

// Goal: the lease grows with the process tree, so that there is time to stop it, and the user is told.
func TestLongALargeTreeGetsALongerLease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRunning(t, server, "--lease-time 1s job", `n=0; while [ $n -lt 1500 ]; do sleep 600 & n=$((n+1)); done; wait`)
	redistest.Eventually(t, 60*time.Second, func() bool { return server.PTTL(t, "job") > time.Second }, "the lease grows")
	redistest.Must(0, r.command.Process.Signal(syscall.SIGTERM))
	<-r.exited // some of its children may be left when the shell has ended, which redlatch says
	if text, _ := os.ReadFile(r.stderr); !regexp.MustCompile(`lock "job": its lease is \d+s from now on: 1s would leave too little time`).Match(text) {
		t.Errorf("nobody was told of the lease: %s", text)
	}
}
