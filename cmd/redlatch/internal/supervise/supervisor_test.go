//go:build unix

package supervise

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestEverythingIsGoneBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 10 * time.Second, KillAfter: 300 * time.Millisecond}, proctest.Stubborn)
	s.tree.AwaitStubborn()
	s.tell("deadline 2s") // SIGKILL after 1 s
	s.tree.AwaitGone(10 * time.Second)
	if from, to := s.deadline().Sub(s.tree.At), s.deadline().Sub(s.tree.Last); to <= 0 || from > 1100*time.Millisecond {
		t.Errorf("all were gone %v to %v before the deadline", from, to)
	}
	s.want(End{Code: 137, Why: OutOfTime})
}

func TestACommandGetsTheTimeItWasPromisedToEndInGoodOrder(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 6 * time.Second, KillAfter: 2 * time.Second}, `
		trap 'echo told >&9; sleep 0.7; echo tidied >&9; exit 3' TERM
		echo ready >&9
		while :; do sleep 0.05; done`)
	s.tree.Await("ready")
	s.tell("deadline 3s") // SIGTERM after 0.4 s, SIGKILL after 2.4 s
	s.tree.Await("tidied")
	s.want(End{Code: 3, Why: OutOfTime})
}

func TestARenewalInTimeIsNeverNoticed(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 10 * time.Second, KillAfter: 300 * time.Millisecond}, `
		trap 'echo told >&9' TERM
		trap 'exit 4' USR1
		echo ready >&9
		while :; do sleep 0.05; done`)
	s.tree.Await("ready")
	for range 8 {
		s.tell("deadline 5s") // SIGTERM after 3.7 s
		time.Sleep(600 * time.Millisecond)
	}
	s.tell("deadline 1h")
	s.command.Process.Signal(Signals[4])
	s.want(End{Code: 4})
	if said := s.tree.Said(); slices.Contains(said, "told") {
		t.Errorf("the command was told to end: %q", said)
	}
}

func TestALossStopsTheCommandAtOnce(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 10 * time.Second}, `
		trap 'echo told >&9; exit 0' TERM
		echo ready >&9
		while :; do sleep 0.05; done`)
	s.tree.Await("ready")
	lost := s.tell("lost")
	s.tree.AwaitGone(10 * time.Second)
	if took := s.tree.Last.Sub(lost); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	s.want(End{Why: Lost})
	if !slices.Contains(s.tree.Said(), "told") {
		t.Error("it was not asked to end")
	}
}

func TestALossKillsWhatDoesNotEndWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 10 * time.Second}, proctest.Stubborn)
	s.tree.AwaitStubborn()
	lost := s.tell("lost")
	s.tree.AwaitGone(10 * time.Second)
	if from, to := s.tree.Last.Sub(lost), s.tree.At.Sub(lost); from > 8*time.Second || to < 1900*time.Millisecond {
		t.Errorf("it took %v to %v", from, to)
	}
	s.want(End{Code: 137, Why: Lost})
}

func TestAHoldThatIsOverBeforeTheStartStartsNothing(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	close(done)
	for why, hold := range map[Reason]*toldHold{
		Lost:      {deadline: time.Now().Add(time.Hour), done: done},
		OutOfTime: {deadline: time.Now().Add(100 * time.Millisecond), done: make(chan struct{})},
	} {
		// The command does not exist: an attempt to start it would be an error.
		end, err := Run(Command{Path: "/nonexistent"}, hold, Limits{Lease: 10 * time.Second}, nil)
		if err != nil || end.Why != why {
			t.Errorf("%+v, %v, want %q", end, err, why)
		}
	}
}

func TestOnlyAPauseThatIsLongEnoughIsTold(t *testing.T) {
	t.Parallel()
	k := &holder{hold: &toldHold{}, times: newSchedule(2*time.Second, 400*time.Millisecond)}
	for _, paused := range []time.Duration{0, 300 * time.Millisecond, time.Second} {
		want := paused
		if paused < 700*time.Millisecond {
			want = 0
		}
		k.paused = paused
		if end := k.explain(End{}); end.Paused != want {
			t.Errorf("of a pause of %v it tells %v", paused, end.Paused)
		}
	}
}

func TestWhatACommandLeavesInItsGroupIsStopped(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 300 * time.Millisecond}, `
		sh -c 'trap "" TERM; echo deaf $$ >&9; while :; do sleep 1; done' &
		sh -c 'trap "echo told >&9; exit" TERM; echo left $$ >&9; while :; do sleep 0.05; done' &
		sh -c 'sleep 0.4; exec setsid sh -c "echo daemon \$\$ >&9; exec 9>&-; : >\$TREE.left; exec sleep 1000"' &
		until [ -e "$TREE.left" ]; do sleep 0.02; done; exit 5`)
	s.tree.Await("deaf")
	s.tree.Await("left")
	daemon := s.tree.Pid("daemon")
	defer syscall.Kill(daemon, syscall.SIGKILL)
	s.tree.AwaitGone(10 * time.Second)
	end := s.end()
	// Their sleeps are counted, too.
	if end.Code != 5 || end.Why != "" || end.LeftBehind < 2 || end.LeftBehind > 4 || len(end.Left) > 0 {
		t.Errorf("the end is %+v", end)
	}
	if !slices.Contains(s.tree.Said(), "told") {
		t.Error("nobody was asked to end")
	}
	if err := syscall.Kill(daemon, 0); err != nil {
		t.Errorf("a daemon that the command started in a session of its own: %v", err)
	}
}

func TestWhatIsJustEndingIsLeftToEnd(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second, Grace: 8 * time.Second}, `
		sh -c 'sleep 1; echo written >&9' &
		exit 0`)
	s.tree.AwaitGone(10 * time.Second)
	s.want(End{})
	if !slices.Contains(s.tree.Said(), "written") {
		t.Error("it was stopped in the middle")
	}
}

// A loss while the rest of the group is being stopped must not wait for that.
func TestALossWhileLeftoversAreStoppedStopsEverything(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 10 * time.Second}, `
		trap '' TERM
		sh -c 'echo deaf $$ >&9; while :; do sleep 1; done' &
		setsid sh -c 'echo apart $$ >&9; while :; do sleep 1; done' &
		sleep 0.5; echo leaving >&9`)
	s.tree.Await("deaf")
	s.tree.Await("apart")
	s.tree.Await("leaving")
	lost := s.tell("lost")
	s.tree.AwaitGone(10 * time.Second)
	if took := s.tree.Last.Sub(lost); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
	if end := s.end(); end.Why != Lost {
		t.Errorf("the end is %+v", end)
	}
}

func TestAStoppedCommandDiesOfALossToo(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
		echo leader $$ >&9; kill -STOP $$; echo awake >&9; sleep 1000`)
	leader := s.tree.Pid("leader")
	awaitState(t, leader, "T")
	s.tell("lost")
	s.tree.AwaitGone(10 * time.Second)
	s.want(End{Code: 143, Why: Lost})
}

func TestEachSignalIsPassedOnOnce(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
		for s in HUP INT QUIT USR1 USR2 TERM; do trap "echo got$s >&9" $s; done
		trap 'echo got >&9; exit 6' CONT
		echo leader $$ >&9
		while :; do sleep 0.05; done`)
	leader := s.tree.Pid("leader")
	names := []string{"HUP", "INT", "QUIT", "USR1", "USR2", "TERM"}
	for i, name := range names {
		s.command.Process.Signal(Signals[[]int{0, 1, 2, 4, 5, 3}[i]])
		s.tree.Await("got" + name)
	}
	syscall.Kill(leader, syscall.SIGCONT) // whatever is still under way comes before
	s.want(End{Code: 6})
	var got []string
	for _, line := range s.tree.Said() {
		if name, found := strings.CutPrefix(line, "got"); found && name != "" {
			got = append(got, name)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("the command got %v, want %v", got, names)
	}
}

func TestTheExitCodeIsTheCommandsOwn(t *testing.T) {
	t.Parallel()
	for script, code := range map[string]int{"exit 0": 0, "exit 75": 75, "exit 255": 255, "kill -KILL $$": 137, "kill -TERM $$": 143} {
		s := supervise(t, Limits{Lease: time.Second, KillAfter: 0}, script)
		s.want(End{Code: code})
	}
}

// awaitState waits until ps shows a process in a state.
func awaitState(t *testing.T, pid int, state string) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, func() bool { return strings.HasPrefix(processState(pid), state) }, "the process is in state "+state)
}

// processState is the state of a process as ps writes it, without its priority.
func processState(pid int) string {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return strings.Trim(strings.NewReplacer("N", "", "<", "").Replace(string(out)), " \n")
}
