package demo

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// signalled is the program of a parent whose whole group gets signals.
const signalled = "demo-test-signalled"

func init() {
	if os.Args[len(os.Args)-1] != signalled {
		return
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	go func() {
		for range time.Tick(200 * time.Microsecond) {
			must(0, syscall.Kill(0, syscall.SIGUSR1))
		}
	}()
	ps := must(newProcesses(os.Args[0], idle))
	for range 40 {
		must(ps.start(task{}))
	}
	must(0, ps.end(func(e event) error { _, err := ps.heard(e); return err }))
	os.Exit(0)
}

// Goal: an actor that a signal to the whole group ends before it has left the group is started again. Method: the group of
// a parent, which heeds it, gets one every 200 µs.
func TestAnActorThatASignalEndsTooEarlyIsStartedAgain(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), os.Args[0], signalled)
	parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if said, err := parent.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
