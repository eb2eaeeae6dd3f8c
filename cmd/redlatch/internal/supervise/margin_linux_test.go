package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Goal: a large process tree is gone before the deadline, as a small one is. Each process is in a session of
// its own, so none gets a signal as one of a group.

// crowdOf is a script with so many descendants that ignore SIGTERM.
func crowdOf(n int) string {
	return fmt.Sprintf(`trap '' TERM; n=0
		while [ $n -lt %d ]; do setsid sleep 600 & n=$((n+1)); done
		echo ready >&9; exec sleep 600`, n)
}

// renewed moves the deadline on as renewals do, until a function says that it is enough. It returns the
// last deadline.
func (s *supervised) renewed(lease time.Duration, enough func() bool) (deadline time.Time) {
	s.t.Helper()
	for !enough() {
		deadline = s.tell("deadline " + (lease - lease/100).String()).Add(lease - lease/100)
		time.Sleep(lease / 3)
	}
	return deadline
}

// after is enough when a time has passed.
func after(d time.Duration) func() bool {
	limit := time.Now().Add(d)
	return func() bool { return time.Now().After(limit) }
}

// awaitReady waits for a tree that may take long to start.
func (s *supervised) awaitReady() {
	s.t.Helper()
	for limit := time.Now().Add(5 * time.Minute); !strings.Contains(strings.Join(s.tree.Said(), " "), "ready"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			s.t.Fatal("the tree does not start")
		}
	}
}

// marginOf is how long before the deadline a tree of so many is gone if the hold is not renewed.
func marginOf(t *testing.T, n int, lease time.Duration, protect bool) time.Duration {
	t.Helper()
	s := supervise(t, Limits{Lease: lease, KillAfter: KillAfter(lease), Protect: protect}, crowdOf(n))
	s.awaitReady()
	deadline := s.renewed(lease, after(lease+time.Second))
	return deadline.Sub(s.tree.AwaitGone(lease + 20*time.Second))
}

func TestLongALargeTreeIsGoneBeforeTheDeadline(t *testing.T) {
	for _, lease := range []time.Duration{time.Second, 2 * time.Second} {
		if margin := marginOf(t, 1000, lease, false); margin <= 0 {
			t.Errorf("a lease of %v: 1,000 processes were gone %v after the deadline", lease, -margin)
		}
	}
}

// TestLongMargins prints the table of docs/decisions/0043-a-margin-grows-with-its-work.md.
func TestLongMargins(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("REDLATCH_MARGINS"))
	if rounds == 0 {
		t.Skip("REDLATCH_MARGINS says how many rounds for each line")
	}
	for _, n := range []int{0, 100, 1000, 5000} {
		for _, lease := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 30 * time.Second} {
			for _, protect := range []bool{false, true} {
				least := lease
				for range rounds {
					least = min(least, marginOf(t, n, lease, protect))
				}
				fmt.Printf("| %d | %v | %v | %v |\n", n, lease, protect, least.Round(time.Millisecond))
			}
		}
	}
}

// Goal: whoever was stopped works no more. If the parent of stopped processes dies, the kernel continues
// them. Method: a shell with many jobs in a session of its own. Each says so if it is continued.
func TestAFrozenTreeDiesWithoutWakingUp(t *testing.T) {
	t.Parallel()
	s := supervise(t, Limits{Lease: time.Second, KillAfter: 100 * time.Millisecond, Protect: true}, `
		job='trap "" HUP TERM; trap "echo woke >&9" CONT; sleep 600 & while :; do wait; done'
		jobs='set -m; n=0; while [ $n -lt 200 ]; do bash -c "$job" & n=$((n+1)); done; echo ready >&9; while :; do wait; done'
		export job; setsid bash -c "$jobs" & wait`)
	s.awaitReady()
	s.renewed(time.Second, after(time.Second))
	s.command.Process.Signal(unix.SIGSTOP)
	awaitFrozen(t, s)
	before := len(s.tree.Said())
	s.command.Process.Kill()
	s.tree.AwaitGone(20 * time.Second)
	if said := s.tree.Said()[before:]; len(said) > 0 {
		t.Errorf("%d processes have woken up", len(said))
	}
}

// awaitFrozen waits until nobody of the tree runs.
func awaitFrozen(t *testing.T, s *supervised) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all, err := readProcesses()
		if err != nil {
			t.Fatal(err)
		}
		running := 0
		for _, p := range (root{self: s.command.Process.Pid}).descendants(all) {
			if !p.stopped && p.parent != s.command.Process.Pid {
				running++
			}
		}
		if running == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%d processes run", running)
		}
	}
}
