package supervise

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
)

// asHeadless makes the test binary a process that goes on with other threads than its first.
const asHeadless = "REDLATCH_TEST_HEADLESS"

func init() {
	if os.Getenv(asHeadless) == "" {
		return
	}
	signal.Ignore(unix.SIGTERM)
	runtime.LockOSThread()
	go func() {
		time.Sleep(30 * time.Second)
		os.Exit(0)
	}()
	unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
}

// strays are processes that are hard to find, each in a session of its own. All would end by
// themselves within a minute.
var strays = map[string]string{
	// Its first thread has ended, so it looks dead.
	"headless": asHeadless + `=yes setsid "$SELF" &`,
	// It starts another and ends, again and again, so it is never where somebody looks.
	"fleeting": `setsid sh -c 'next="n=\$((n-1)); [ \$n -gt 0 ] || exit; { eval \"\$next\"; } & exit"; n=4000; eval "$next"' &`,
}

// superviseStray starts one.
func superviseStray(t *testing.T, stray string) *supervised {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 200 * time.Millisecond}, `
		trap '' TERM
		SELF=`+self+"\n"+stray+`
		sleep 0.3; echo leader $$ >&9
		n=0; while [ $n -lt 300 ]; do sleep 0.1; n=$((n+1)); done`)
	s.tree.Await("leader")
	return s
}

// Goal: nobody escapes whom a list of processes does not show. Method: the hold is lost, or the
// switch dies.
func TestAProcessThatIsHardToFindIsGoneToo(t *testing.T) {
	t.Parallel()
	for kind, stray := range strays {
		t.Run(kind+", by the switch", func(t *testing.T) {
			t.Parallel()
			s := superviseStray(t, stray)
			s.tell("lost")
			s.want(End{Code: 137, Why: Lost})
			s.goneAlready()
		})
		t.Run(kind+", by the holder", func(t *testing.T) {
			t.Parallel()
			s := superviseStray(t, stray)
			unix.Kill(parentOf(t, s.tree.Pid("leader")), unix.SIGKILL)
			s.want(End{Code: 137, Why: SwitchDied})
			s.goneAlready()
		})
	}
}

// goneAlready checks that nobody is there after the end was reported.
func (s *supervised) goneAlready() {
	s.t.Helper()
	if s.tree.IsThere() {
		s.t.Errorf("somebody is there; they said %q", s.tree.Said())
	}
}

// Goal: nobody is taken for gone because nobody can look. Method: the switch may open no file any
// more, so it cannot find the process in a session of its own. The holder can.
func TestASwitchThatMayOpenNoFileLeavesNobody(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 200 * time.Millisecond}, proctest.Stubborn)
	s.tree.AwaitStubborn()
	none := unix.Rlimit{Cur: 3, Max: 3}
	if err := unix.Prlimit(parentOf(t, s.tree.Pid("leader")), unix.RLIMIT_NOFILE, &none, nil); err != nil {
		t.Fatal(err)
	}
	s.tell("lost")
	s.want(End{Code: 137, Why: Lost})
	s.goneAlready()
}

// Goal: a process that /proc does not show is gone, too, as below sudo with hidepid. Method: something
// else is mounted where /proc has it.
func TestAProcessThatIsHiddenIsGoneToo(t *testing.T) {
	t.Parallel()
	namespace := []string{"unshare", "--user", "--map-root-user", "--mount"}
	if said, err := exec.Command(namespace[0], append(namespace[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("there is no namespace of mounts to be had: %v, %s", err, said)
	}
	for name, script := range map[string]string{
		"lost":        `setsid sh -c "$live" & mount --bind "$PWD" /proc/$! && echo hidden $! >&9; eval "$live"`,
		"left behind": `sh -c "$live" & mount --bind "$PWD" /proc/$! && echo hidden $! >&9`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: 200 * time.Millisecond},
				`live='trap "" TERM; n=0; while [ $n -lt 300 ]; do sleep 0.1; n=$((n+1)); done'; `+script, namespace...)
			s.tree.Await("hidden")
			if name == "lost" {
				s.tell("lost")
			}
			s.end()
			s.goneAlready()
		})
	}
}

// Goal: a command that takes all the processes there may be does not take the threads of those that
// stop it. Method: both have started their threads before the command begins.
func TestTheThreadsAreThereBeforeTheCommandIs(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `echo leader $$ >&9; exec sleep 30`)
	swtch := parentOf(t, s.tree.Pid("leader"))
	for _, pid := range []int{swtch, parentOf(t, swtch)} {
		if all, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)); err != nil || len(all) <= threads {
			t.Errorf("process %d has %d threads, %v", pid, len(all), err)
		}
	}
	s.command.Process.Signal(syscall.SIGTERM)
	s.want(End{Code: 143})
}

// A process whose first thread has ended looks dead, but for the number of its threads.
func TestAProcessIsDeadWhenItsLastThreadIs(t *testing.T) {
	t.Parallel()
	for line, ended := range map[string]bool{
		"42 (x) Z 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 1": true,
		"42 (x) Z 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 123456 1 1": false,
		"42 (x) X 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 0 0 123456 1 1": true,
		"42 (x) S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 1": false,
	} {
		if p, err := parseProcess(42, line); err != nil || p.ended != ended {
			t.Errorf("%s: %+v, %v", strings.Fields(line)[2], p, err)
		}
	}
}
