package supervise

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
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

// renewed moves the deadline on as renewals do, until a function says that it is enough.
func (s *supervised) renewed(lease time.Duration, enough func() bool) {
	s.t.Helper()
	for !enough() {
		s.tell("renew " + (lease - lease/100).String())
		time.Sleep(lease / 3)
	}
}

// after is enough when a time has passed.
func after(d time.Duration) func() bool {
	limit := time.Now().Add(d)
	return func() bool { return time.Now().After(limit) }
}

// awaitReady waits for a tree that may take long to start. The hold lasts meanwhile, and may get a longer lease.
func (s *supervised) awaitReady(lease time.Duration) {
	s.t.Helper()
	s.tell("lease " + lease.String())
	for limit := time.Now().Add(5 * time.Minute); !strings.Contains(strings.Join(s.tree.Said(), " "), "ready"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			s.t.Fatal("the tree does not start")
		}
	}
}

// marginOf is the time between the end of a tree of so many and the deadline, if the hold is not renewed.
func marginOf(t *testing.T, n int, lease time.Duration) time.Duration {
	t.Helper()
	s := supervise(t, Limits{Lease: lease, KillAfter: KillAfter(lease)}, crowdOf(n))
	s.awaitReady(lease)
	s.renewed(lease, after(lease+time.Second))
	s.tree.AwaitGone(maxLease + 20*time.Second)
	return s.deadline().Sub(s.tree.Last)
}

func TestLongALargeTreeIsGoneBeforeTheDeadline(t *testing.T) {
	for _, c := range []crowd{{1000, 2 * time.Second}, {5000, time.Second}} {
		if margin := marginOf(t, c.n, c.lease); margin <= 0 {
			t.Errorf("a lease of %v: somebody of %d processes was there %v after the deadline", c.lease, c.n, -margin)
		}
	}
}

// crowd is one line of the table of margins.
type crowd struct {
	n     int
	lease time.Duration
}

var (
	crowds = []int{0, 100, 1000, 5000}
	leases = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 30 * time.Second}
)

// TestLongMargins writes the table of docs/decisions/0043-a-margin-grows-with-its-work.md: rounds in a random
// order, for a time, with and without four processes beside them that take all the processor that they get.
func TestLongMargins(t *testing.T) {
	limit, err := time.ParseDuration(os.Getenv("REDLATCH_MARGINS"))
	if err != nil {
		t.Skip("REDLATCH_MARGINS says for how long, such as 1h")
	}
	hurry() // or the look at the tree is late as well
	found := make(map[crowd]*[4]margins)
	for began := time.Now(); time.Since(began) < limit; {
		for _, n := range rand.Perm(len(crowds) * len(leases) * 4) {
			c, column := crowd{crowds[n/4%4], leases[n/16]}, n%4
			if found[c] == nil {
				found[c] = new([4]margins)
			}
			if margin, ok := c.round(t, column >= 2, column%2 == 1); ok {
				found[c][column].add(margin)
			}
			fmt.Fprintln(os.Stderr, c, column, found[c][column].String(), time.Since(began).Round(time.Second))
		}
	}
	fmt.Println("| Descendants | Lease | killed | killed, loaded | stopped | stopped, loaded |\n|--:|--:|--:|--:|--:|--:|")
	rounds := 0
	for _, n := range crowds {
		for _, lease := range leases {
			fmt.Printf("| %d | %v ", n, lease)
			for _, m := range found[crowd{n, lease}] {
				rounds += m.rounds
				fmt.Printf("| %v ", &m)
			}
			fmt.Println("|")
		}
	}
	fmt.Println(rounds, "rounds")
}

// usual is the niceness of this process at its start.
var usual = niceness()

// atUsual are the words before a command that has it again.
func atUsual() []string { return []string{"nice", "-n", strconv.Itoa(usual - niceness())} }

// margins are those of several rounds.
type margins struct {
	rounds int
	least  time.Duration
}

func (m *margins) add(margin time.Duration) {
	if m.rounds == 0 || margin < m.least {
		m.least = margin
	}
	m.rounds++
}

func (m *margins) String() string {
	if m.rounds == 0 {
		return "–"
	}
	return m.least.Round(time.Millisecond).String()
}

// round is one round: the hold is not renewed any more, at some moment. Of a protected one the holder is
// paused then, and the tree is to be stopped. It returns how long before the deadline that was,
// unless the round failed.
func (c crowd) round(t *testing.T, protect, loaded bool) (margin time.Duration, ok bool) {
	t.Helper()
	ok = t.Run("", func(t *testing.T) { // so that nothing of it is left
		if loaded {
			burn(t)
		}
		s := supervise(t, Limits{Lease: c.lease, KillAfter: KillAfter(c.lease), Protect: protect}, crowdOf(c.n), atUsual()...)
		s.awaitReady(c.lease)
		s.renewed(c.lease, after(time.Second+rand.N(min(c.lease, 4*time.Second))))
		if !protect {
			s.tree.AwaitGone(maxLease + 20*time.Second)
			margin = s.deadline().Sub(s.tree.At)
			return
		}
		s.command.Process.Signal(unix.SIGSTOP)
		deadline := s.deadline()
		time.Sleep(time.Until(deadline) * 9 / 20)
		awaitFrozen(t, s)
		margin = time.Until(deadline)
		s.command.Process.Kill()
		s.tree.AwaitGone(20 * time.Second)
		<-s.exited
	})
	return margin, ok
}

// burn takes all the processor that it gets, until the end of the test.
func burn(t *testing.T) {
	t.Helper()
	for range 4 {
		loop := exec.Command("nice", append(atUsual()[1:], "sh", "-c", "while :; do :; done")...)
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { loop.Process.Kill(); loop.Wait() })
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
	s.awaitReady(time.Second)
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
