package demo

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func actors(t *testing.T, program ...string) *processes {
	t.Helper()
	ps := must(newProcesses(program...))
	t.Cleanup(func() { ps.stdout.Close() })
	return ps
}

// Goal: no event is lost or torn, whoever else writes at the same time, and whatever
// stands between them. The end of a killed actor is told after all that it has said.
func TestTheEventsOfAllActorsComeInOneOrder(t *testing.T) {
	t.Parallel()
	ps := actors(t, os.Args[0], talkative)
	const writers = 4
	for range writers {
		must(ps.start(task{}))
	}
	next := make(map[int]int64)
	for limit := time.After(20 * time.Second); len(next) < writers || next[1] < 500; {
		select {
		case e := <-ps.events:
			if next[e.Number]++; e.Kind != leave || e.Read != next[e.Number] {
				t.Fatalf("%+v where line %d was due", e, next[e.Number])
			}
		case <-limit:
			t.Fatalf("heard %v", next)
		}
	}
	killed := map[int]int64{}
	for _, p := range ps.all {
		p.kill()
		killed[p.number] = p.killedAt.Load()
	}
	check(t, ps.end(func(e event) error {
		p, err := ps.heard(e)
		if e.Kind == gone && (p.number != e.Number || e.At != killed[e.Number]) {
			t.Errorf("%+v is told of one that was killed at %d", e, killed[e.Number])
		}
		if next[e.Number]++; e.Kind == leave && e.Read != next[e.Number] {
			t.Errorf("%+v where line %d was due", e, next[e.Number])
		}
		return err
	}))
}

func TestAnActorThatFailsIsReportedWithItsStderr(t *testing.T) {
	t.Parallel()
	unreachable := task{URL: "redis://127.0.0.1:1", Lock: "x", Counter: newCounter(t), Lease: time.Second}
	for program, why := range map[string][]string{failing: {"exit status 3", "the reason why"}, acting: {"exit status 2", "connection refused"}} {
		ps := actors(t, os.Args[0], program)
		must(ps.start(unreachable))
		e := <-ps.events
		_, err := ps.heard(e)
		if e.Kind != gone {
			t.Errorf("%s: %+v", program, e)
		}
		contains(t, fmt.Sprint(err), append(why, "worker w1 (pid ")...)
	}
}

func TestAProgramThatDoesNotStartIsAnError(t *testing.T) {
	t.Parallel()
	_, err := actors(t, t.TempDir()+"/none").start(task{})
	contains(t, fmt.Sprint(err), "start worker w1")
}

// A signal to the whole group may end an actor that was to leave.
func TestAnActorThatASignalEndsWhileItLeavesIsNoError(t *testing.T) {
	t.Parallel()
	ps := actors(t, "sh", "-c", "cat >/dev/null; kill -INT $$")
	must(ps.start(task{}))
	check(t, ps.end(func(e event) error { _, err := ps.heard(e); return err }))
}

func TestAnActorThatDoesNotLeaveIsKilledAndReported(t *testing.T) {
	t.Parallel()
	ps := actors(t, os.Args[0], talkative)
	ps.patience = 200 * time.Millisecond
	must(ps.start(task{}))
	must(ps.start(task{}))
	err := ps.end(func(e event) error { _, err := ps.heard(e); return err })
	contains(t, fmt.Sprint(err), "worker w1 ", "worker w2 ", "did not leave within 200ms")
	if ps.living != 0 {
		t.Errorf("%d workers are left", ps.living)
	}
}
