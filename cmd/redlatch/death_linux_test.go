package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// atTerminal starts a program at a terminal of its own, where redlatch is the command.
func atTerminal(t *testing.T, server *redistest.Server, arguments ...string) (*exec.Cmd, *proctest.Terminal) {
	t.Helper()
	program := exec.Command(arguments[0], arguments[1:]...)
	program.Env = append(os.Environ(), commandEnv(t, server)...)
	terminal := proctest.StartAtTerminal(t, program)
	t.Cleanup(func() { program.Process.Kill() })
	return program, terminal
}

// wantEnd waits for the end of a program by a signal.
func wantEnd(t *testing.T, program *exec.Cmd, by syscall.Signal) {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); program.Wait() }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
	if status := program.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != by {
		t.Errorf("it ended with %v, want the signal: %v", program.ProcessState, by)
	}
}

// Goal: Ctrl-C ends a loop, and not one round of it. Method: the terminal sends the signal to
// the command alone while it runs, and to the whole script while redlatch waits.
func TestCtrlCEndsAShellLoop(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, shell := range []string{"bash", "dash", "sh", "zsh"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("there is no %s here", shell)
			continue
		}
		program, terminal := atTerminal(t, server, shell, "-c", `for i in 1 2 3; do redlatch run job -- sh -c 'echo round; exec sleep 60'; done; echo after`)
		terminal.Await("round")
		terminal.Type(proctest.CtrlC)
		wantEnd(t, program, syscall.SIGINT)
		if said := terminal.Output(); strings.Count(said, "round") != 1 || strings.Contains(said, "after") {
			t.Errorf("%s goes on: %s", shell, said)
		}
		if server.CLI(t, "EXISTS", "job") != int64(0) {
			t.Errorf("%s: the lock is still held", shell)
		}
	}
	server.CLI(t, "HSET", "job", seenOwner, "1")
	program, terminal := atTerminal(t, server, "sh", "-c", `for i in 1 2 3; do redlatch run job -- true; echo again; done`)
	redistest.Eventually(t, 10*time.Second, func() bool { return subscribers(server.CLI(t, numSub("job")...)) == 1 }, "it waits")
	terminal.Type(proctest.CtrlC)
	wantEnd(t, program, syscall.SIGINT)
	if strings.Contains(terminal.Output(), "again") {
		t.Errorf("the loop goes on: %s", terminal.Output())
	}
}

func TestCtrlCEndsALoopOfAnInteractiveShell(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here")
	}
	server := redistest.Start(t)
	_, terminal := atTerminal(t, server, "bash", "--norc", "--noprofile", "-i")
	terminal.Type("for i in 1 2 3; do redlatch run job -- sh -c 'echo ro''und; exec sleep 60'; done; echo af''ter\n")
	terminal.Await("round")
	terminal.Type(proctest.CtrlC)
	redistest.Eventually(t, 20*time.Second, func() bool { return server.CLI(t, "EXISTS", "job") == int64(0) }, "the lock is free")
	terminal.Type("echo ans''wer\n")
	terminal.Await("answer")
	if said := terminal.Output(); strings.Count(said, "round") != 1 || strings.Contains(said, "after") {
		t.Errorf("the loop goes on: %s", said)
	}
}

// Goal: whoever started redlatch sees which signal ended it, as of any other program.
func TestASignalThatEndsTheCommandEndsRedlatch(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, number := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		r := startRunning(t, server, "job", `echo leader $$ >&9; exec sleep 60 9>&9`)
		r.tree.Await("leader")
		r.command.Process.Signal(number)
		r.end(exitSignal + int(number))
		if status := r.command.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
			t.Errorf("after %v it exited with %d", number, status.ExitStatus())
		}
	}
	if server.CLI(t, "EXISTS", "job") != int64(0) {
		t.Error("the lock is still held")
	}
	// An exit code is passed on as one, whatever its number.
	r := startRunning(t, server, "job", `exit 130`)
	r.end(130)
	if status := r.command.ProcessState.Sys().(syscall.WaitStatus); !status.Exited() {
		t.Error("an exit code became a signal")
	}
}

// Goal: a container whose first process is redlatch ends with the exit code. No signal of its
// own ends that process.
func TestTheFirstProcessEndsWithTheExitCode(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	command := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c", `exec redlatch run job -- sh -c 'kill -TERM $$'`)
	command.Env = append(os.Environ(), commandEnv(t, server)...)
	said, _ := command.CombinedOutput()
	if strings.HasPrefix(string(said), "unshare: ") || command.ProcessState == nil {
		t.Skipf("there is no namespace of processes to be had: %s", said)
	}
	if code := shellCode(command.ProcessState); code != 143 {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// Goal: nothing is started that nobody could find again. Method: a namespace of processes in which
// /proc shows those of another.
func TestWithoutItsProcNothingIsStarted(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	command := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "sh", "-c", `redlatch run job -- echo ran; exit $?`)
	command.Env = append(os.Environ(), commandEnv(t, server)...)
	said, _ := command.CombinedOutput()
	if strings.HasPrefix(string(said), "unshare: ") || command.ProcessState == nil {
		t.Skipf("there is no namespace of processes to be had: %s", said)
	}
	if code := shellCode(command.ProcessState); code != exitFailure || strings.Contains(string(said), "ran\n") || !strings.Contains(string(said), "PID namespace") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if server.CLI(t, "EXISTS", "job") != int64(0) {
		t.Error("the lock is still held")
	}
}

// Goal: a user who waits at a terminal learns for whom, and a log does not.
func TestLongALongWaitNamesTheHolderAtATerminal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "HSET", "job", seenOwner, "1")
	for _, verb := range []string{"run job -- true", "wait job"} {
		began := time.Now()
		program, terminal := atTerminal(t, server, "sh", "-c", "exec redlatch "+verb)
		terminal.Await(`redlatch: waiting.*held by ` + seenOwner + `, count 1, without end\r?\n`)
		if took := time.Since(began); took < untilTold {
			t.Errorf("%s: it speaks after %v", verb, took)
		}
		terminal.Type(proctest.CtrlC)
		wantEnd(t, program, syscall.SIGINT)
		if said := terminal.Output(); strings.Count(said, "waiting") != 1 {
			t.Errorf("%s: %s", verb, said)
		}
	}
	program, terminal := atTerminal(t, server, "sh", "-c", "exec redlatch run -q -w 1.5 job -- true")
	program.Wait()
	if code := shellCode(program.ProcessState); code != exitHeld || strings.Contains(terminal.Output(), "waiting") {
		t.Errorf("exit code %d: %s", code, terminal.Output())
	}
	if said, _ := askWith(t, commandEnv(t, server), "run", "-w", "1.5", "job", "--", "true"); strings.Contains(said, "waiting") {
		t.Errorf("without a terminal it says %s", said)
	}
}
