package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The command is told when its supervisor is killed, which nobody else could tell it.
func TestAKilledSupervisorsCommandIsTold(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
		trap 'echo told >&9; exit' TERM
		echo ready $$ >&9
		while :; do sleep 0.05; done`)
	s.tree.Await("ready")
	s.command.Process.Kill()
	s.tree.Await("told")
	s.tree.AwaitGone(5 * time.Second)
}

// Goal: on a busy machine each thread of the switch comes before others of its session and control group. Its command does not.
func TestTheSwitchComesBeforeItsCommand(t *testing.T) {
	t.Parallel()
	if refused := redistest.Must(exec.Command("nice", "-n", "-20", "true").CombinedOutput()); len(refused) > 0 {
		t.Skip("nobody may come before others here")
	}
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
		echo leader $$ >&9; echo nice $(nice) >&9
		exec sleep 30`, "nice", "-n", "3")
	if got, want := s.tree.Pid("nice"), min(niceness()+3, 19); got != want {
		t.Errorf("the niceness of the command is %d, want %d", got, want)
	}
	threads := fmt.Sprintf("/proc/%d/task", parentOf(t, s.tree.Pid("leader")))
	redistest.Eventually(t, 5*time.Second, func() bool {
		entries, err := os.ReadDir(threads)
		return err == nil && !slices.ContainsFunc(entries, func(thread os.DirEntry) bool {
			number, _ := strconv.Atoi(thread.Name())
			raw, err := unix.Getpriority(unix.PRIO_PROCESS, number)
			return err != nil || 20-raw != hurried
		})
	}, "each thread of the switch comes before others")
}

// Goal: a pause is told as one, also if the hold is confirmed again at the moment of waking up, when
// the switch has stopped the command already.
func TestLongAPauseIsTheReasonAlsoIfTheHoldIsConfirmedAfterwards(t *testing.T) {
	t.Parallel()
	for range 3 {
		s := supervise(t, Limits{Lease: time.Second, KillAfter: 100 * time.Millisecond}, `echo leader $$ >&9; exec sleep 60`)
		s.tree.Await("leader")
		deadline := s.tell("deadline 6s").Add(6 * time.Second)
		redistest.Eventually(t, time.Minute, func() bool { return time.Until(deadline) < time.Second }, "the switch has had five seconds to learn of it")
		s.command.Process.Signal(syscall.SIGSTOP)
		s.tell("deadline 1h") // is carried out when it goes on
		s.tree.AwaitGone(time.Minute)
		s.command.Process.Signal(syscall.SIGCONT)
		if end := s.end(); end.Why != OutOfTime || end.Paused == 0 {
			t.Errorf("the end is %+v", end)
		}
	}
}

// A shell that becomes the supervisor by exec leaves it the children that it had.
func TestChildrenThatWereThereBeforeAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 200 * time.Millisecond}, proctest.Stubborn,
		"sh", "-c", `sh -c 'exec sleep 1000' & echo $! >stranger; exec "$0" "$@"`)
	s.tree.AwaitStubborn()
	stranger := redistest.Must(strconv.Atoi(strings.TrimSpace(readFile(t, s.command.Dir+"/stranger"))))
	defer syscall.Kill(stranger, syscall.SIGKILL)
	s.tell("lost")
	s.tree.AwaitGone(10 * time.Second)
	s.want(End{Code: 137, Why: Lost})
	if state := processState(stranger); !strings.HasPrefix(state, "S") {
		t.Errorf("the stranger is in state %q", state)
	}
}

// Goal: a command that runs for weeks and leaves orphans all the time leaves no zombies.
func TestOrphansAreReapedWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
		i=0; while [ $i -lt 20 ]; do (sleep 0 &); i=$((i+1)); done
		echo leader $$ >&9; echo spawned >&9
		while :; do sleep 0.05; done`)
	s.tree.Await("spawned")
	parent := parentOf(t, s.tree.Pid("leader"))
	redistest.Eventually(t, 5*time.Second, func() bool {
		all := redistest.Must(readProcesses())
		n := 0
		for _, p := range all {
			if p.parent == parent {
				n++
			}
		}
		return n == 1
	}, "the switch has one child")
	s.command.Process.Signal(syscall.SIGTERM)
	s.want(End{Code: 143})
}

// While a process is killed it may start another.
func TestACommandThatForksAllTheTimeIsGoneToo(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 0}, `
		trap '' TERM
		echo leader $$ >&9
		body='sleep 0.1; n=$(($0-1)); [ $n -gt 0 ] && { setsid sh -c "$1" $n "$1" & }; exit'
		setsid sh -c "$body" 300 "$body" &
		setsid sh -c "$body" 300 "$body" &
		sleep 0.2; echo racing >&9
		while :; do sleep 1; done`)
	s.tree.Await("racing")
	s.tell("lost")
	s.tree.AwaitGone(15 * time.Second) // by themselves they would be there for 30
	s.want(End{Code: 137, Why: Lost})
}

func TestAProcessNameCannotLieAboutItsParent(t *testing.T) {
	t.Parallel()
	line := "42 (x) S 1 1 (y)) S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 1\n"
	p, err := parseProcess(42, line)
	if want := (process{identity: identity{42, 123456}, parent: 7, group: 8, threads: 1}); err != nil || p != want {
		t.Errorf("%+v, %v, want %+v", p, err, want)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1", strings.Replace(line, " 7 8 ", " x 8 ", 1), strings.Replace(line, "123456", "-1", 1)} {
		if _, err := parseProcess(42, bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestDescendantsAreFoundThroughTheDeadAndNotThroughOtherChildren(t *testing.T) {
	t.Parallel()
	one := func(pid, parent int, ended bool) process {
		return process{identity: identity{pid, uint64(pid)}, parent: parent, ended: ended}
	}
	r := root{self: 10, others: map[identity]bool{{20, 20}: true, {30, 1}: true}}
	all := []process{
		one(1, 0, false), one(10, 1, false), one(11, 1, false),
		one(20, 10, false), one(21, 20, false), // another child, and its child
		one(30, 10, false), // has the number of another child that is gone
		one(31, 30, true), one(32, 31, false), one(12, 11, false),
	}
	var got []int
	for _, p := range r.descendants(all) {
		got = append(got, p.pid)
	}
	if len(got) != 2 || got[0] != 30 || got[1] != 32 {
		t.Errorf("found %v", got)
	}
}

// Between looking at a process and signalling it, its number may pass to another.
func TestASignalReachesNobodyElse(t *testing.T) {
	t.Parallel()
	bystander := exec.Command("sleep", "1000")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { bystander.Process.Kill(); bystander.Wait() }()
	p := redistest.Must(readProcess(bystander.Process.Pid))
	earlier := p
	earlier.started--
	earlier.signal(0, []syscall.Signal{syscall.SIGKILL})
	if state := processState(p.pid); strings.HasPrefix(state, "Z") {
		t.Fatalf("a signal for an earlier process reached it: %q", state)
	}
	p.signal(0, []syscall.Signal{syscall.SIGKILL})
	awaitState(t, p.pid, "Z")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(redistest.Must(os.ReadFile(path)))
}
