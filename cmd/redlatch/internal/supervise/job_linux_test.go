package supervise

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Real job control: a shell at a terminal, in which a user types. $S starts a script
// under a supervisor.

// atShell starts such a shell. The script is in the file "script".
func atShell(t *testing.T, limits Limits, script string) (*supervised, *proctest.Terminal) {
	t.Helper()
	s := newSupervised(t, limits, script)
	self := s.command.Path
	file := filepath.Join(s.command.Dir, "script")
	if err := os.WriteFile(file, []byte(`exec 9>"$TREE"; `+script), 0o600); err != nil {
		t.Fatal(err)
	}
	bash := redistest.Must(exec.LookPath("bash"))
	s.command.Path, s.command.Args = bash, []string{"bash", "--norc", "--noprofile", "-i"}
	s.command.Env = append(s.command.Env, "S="+self, "PS1=ready> ", "TERM=dumb", "HISTFILE=")
	terminal := proctest.StartAtTerminal(t, s.command)
	s.started()
	t.Cleanup(func() {
		if t.Failed() {
			session := strconv.Itoa(s.command.Process.Pid)
			out, _ := exec.Command("ps", "-o", "pid,ppid,pgid,tpgid,stat,args", "-s", session).Output()
			t.Logf("terminal:\n%s\n%s", terminal.Output(), out)
		}
	})
	terminal.Await("ready> $")
	return s, terminal
}

// beating is a script for bash that shows that it is awake, as does a child of it in
// another session. Ctrl-C ends it. Other shells start programs with vfork, and cannot be
// stopped while a program that they start is stopped.
const beating = `
trap 'echo interrupted >&9; exit 9' INT
(setsid bash -c 'echo apart $$ >&9; while :; do sleep 0.02; done' &)
echo leader $$ >&9
while :; do echo beat >&9; sleep 0.02; done`

// beats is how often it has shown that so far.
func (s *supervised) beats() (n int) {
	for _, line := range s.tree.Said() {
		if line == "beat" {
			n++
		}
	}
	return n
}

func (s *supervised) awaitBeat() {
	s.t.Helper()
	before := s.beats()
	redistest.Eventually(s.t, 10*time.Second, func() bool { return s.beats() > before }, "the command is awake")
}

func TestCtrlCReachesTheCommandOnceAndTheShellGetsItsTerminalBack(t *testing.T) {
	t.Parallel()
	s, terminal := atShell(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
		trap 'n=$((n+1)); echo interrupted >&9' INT
		trap 'exit $((10+n))' USR1
		echo leader $$ >&9
		while :; do sleep 0.02; done`)
	terminal.Type("$S sh script; echo the code is $?\n")
	leader := s.tree.Pid("leader")
	awaitState(t, leader, "S+")
	terminal.Type(proctest.CtrlC)
	s.tree.Await("interrupted")
	process, _ := os.FindProcess(leader)
	process.Signal(Signals[4])
	terminal.Await("the code is 11")
	terminal.Type("exit\n")
	s.want(End{Code: 11})
}

func TestCtrlZStopsEverythingAndFgContinuesIt(t *testing.T) {
	t.Parallel()
	s, terminal := atShell(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, beating)
	terminal.Type("$S bash script\n")
	leader, apart := s.tree.Pid("leader"), s.tree.Pid("apart")
	for range 2 {
		s.awaitBeat()
		terminal.Type(proctest.CtrlZ)
		awaitState(t, leader, "T")
		awaitState(t, apart, "T")
		awaitState(t, holderOf(t, leader), "T") // nobody renews, nobody works
		terminal.Type("fg; echo the code is $?\n")
		s.awaitBeat()
		awaitState(t, apart, "S")
	}
	terminal.Type(proctest.CtrlC)
	s.tree.Await("interrupted")
	terminal.Await("the code is 9")
	terminal.Type("kill -9 " + s.tree.Await("apart") + "; exit\n")
	s.want(End{Code: 9})
}

// Goal: what was stopped with Ctrl-Z while its time runs out is gone in time, although the
// holder is stopped, too. Before, it may end in good order.
func TestWhatWasStoppedWithCtrlZIsGoneBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	s, terminal := atShell(t, Limits{Lease: time.Second, KillAfter: 300 * time.Millisecond}, beating)
	terminal.Type("$S bash script\n")
	leader := s.tree.Pid("leader")
	s.tree.Await("apart")
	s.awaitBeat()
	s.tell("deadline 10s")
	deadline := s.deadline()
	redistest.Eventually(t, 5*time.Second, func() bool { return time.Until(deadline) < 9800*time.Millisecond }, "the switch knows, too")
	terminal.Type(proctest.CtrlZ)
	awaitState(t, leader, "T")
	asleep := s.beats()
	s.tree.AwaitGone(20 * time.Second)
	if last := s.tree.Last; !last.Before(deadline) {
		t.Errorf("somebody was there %v after the deadline", last.Sub(deadline))
	}
	if n := s.beats() - asleep; n > 1 { // one may have been on its way
		t.Errorf("it woke up for %d beats", n)
	}
	terminal.Type("fg; echo the code is $?\n")
	terminal.Await("the code is 143") // SIGTERM came first
	terminal.Type("exit\n")
	end := s.end()
	if end.Code != 143 || end.Why != OutOfTime || end.Paused == 0 {
		t.Errorf("the end is %+v", end)
	}
}

func TestACommandInTheBackgroundLeavesTheTerminalToTheShell(t *testing.T) {
	t.Parallel()
	s, terminal := atShell(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, beating)
	terminal.Type("$S bash script\n")
	leader := s.tree.Pid("leader")
	s.awaitBeat()
	terminal.Type(proctest.CtrlZ)
	awaitState(t, leader, "T")
	terminal.Type("bg\n")
	s.awaitBeat()
	terminal.Type("kill -9 " + s.tree.Await("apart") + "; echo now at the $((40+2))th prompt\n")
	terminal.Await(`42th prompt\r\nready> $`)
	// The shell is reading when the command ends.
	supervisor, _ := os.FindProcess(holderOf(t, leader))
	supervisor.Signal(os.Interrupt)
	s.tree.AwaitGone(5 * time.Second)
	redistest.Eventually(t, 5*time.Second, func() bool {
		return processState(supervisor.Pid) == "" || strings.HasPrefix(processState(supervisor.Pid), "Z")
	}, "the supervisor has ended")
	terminal.Type("echo still $((50+2)) here\n")
	terminal.Await("still 52 here")
	terminal.Type("exit\n")
	s.want(End{Code: 9})
}

// With a pipe at its stdout a command is not in the foreground, for the sake of a pager.
func TestACommandThatReadsGetsTheTerminalWhenItNeedsIt(t *testing.T) {
	t.Parallel()
	for what, line := range map[string]string{
		"in a pipeline":     "$S sh script | cat\n",
		"in the background": "$S sh script &\nfg\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, terminal := atShell(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
				echo leader $$ >&9; read x; echo the word is $x`)
			terminal.Type(line)
			leader := s.tree.Pid("leader")
			awaitState(t, leader, "S+")
			terminal.Type("hello\n")
			terminal.Await("the word is hello")
			terminal.Type("exit\n")
			s.want(End{})
		})
	}
}

// A shell that runs a script does not take the terminal back by itself.
func TestWhoeverStartedASupervisorHasTheTerminalAfterwards(t *testing.T) {
	t.Parallel()
	for what, line := range map[string]string{
		"of a command that ended":             `sh -c '$S true; read x; echo the word is $x'` + "\n",
		"of a command that cannot be started": `printf '#!/nonexistent\n' >bad; chmod +x bad; sh -c '$S ./bad; echo the code is $?; read x; echo the word is $x'` + "\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, terminal := atShell(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, "")
			terminal.Type(line + "hello\n")
			terminal.Await("the word is hello")
			terminal.Type("exit\n")
			<-s.exited
			if strings.Contains(line, "./bad") && !strings.Contains(terminal.Output(), "the code is 126") {
				t.Error("it was started")
			}
		})
	}
}

// A shell under the lock has lent the terminal to one of its jobs, and changed its modes, and all are killed.
func TestWhoeverStartedASupervisorHasTheTerminalAfterAShellUnderIt(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"lost", "switch died"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s, terminal := atShell(t, Limits{Lease: 30 * time.Second, KillAfter: 0}, `
				stty -icanon -echo; echo leader $$ >&9; set -m; bash -c 'echo job $$ >&9; n=0; while [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done'`)
			terminal.Type("sh -c '$S bash script; echo the code is $?; stty -a | tr \" \" \"\\n\" | grep icanon; read x; echo the word is $x'\n")
			awaitState(t, s.tree.Pid("job"), "S+")
			if how == "lost" {
				s.tell("lost")
			} else {
				unix.Kill(parentOf(t, s.tree.Pid("leader")), unix.SIGKILL)
			}
			terminal.Await(`the code is 137\r?\nicanon`)
			terminal.Type("hello\n")
			terminal.Await("the word is hello")
			terminal.Type("exit\n")
			s.end()
		})
	}
}

// The switch had lent the terminal to the command, and cannot take it back.
func TestWhoeverStartedAHolderHasTheTerminalAfterTheDeathOfItsSwitch(t *testing.T) {
	t.Parallel()
	s, terminal := atShell(t, Limits{Lease: 30 * time.Second, KillAfter: time.Second}, `
		echo leader $$ >&9; n=0; while [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done`)
	terminal.Type("sh -c '$S sh script; echo the code is $?; read x; echo the word is $x'\n")
	leader := s.tree.Pid("leader")
	awaitState(t, leader, "S+")
	swtch, _ := os.FindProcess(parentOf(t, leader))
	swtch.Kill()
	terminal.Await("the code is 137")
	terminal.Type("hello\n")
	terminal.Await("the word is hello")
	terminal.Type("exit\n")
	s.want(End{Code: 137, Why: SwitchDied})
}

// holderOf is the holder of a command: the parent of the switch, which is its parent.
func holderOf(t *testing.T, leader int) int { return parentOf(t, parentOf(t, leader)) }

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	p := redistest.Must(readProcess(pid))
	return p.parent
}
