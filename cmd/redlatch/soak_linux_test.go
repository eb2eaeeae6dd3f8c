package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// turmoil is a server, crowds of processes on it, and what is done to them at random.
type turmoil struct {
	t       *testing.T
	server  *redistest.Server
	lease   time.Duration
	journal string
	seed    uint64
	over    chan struct{} // closed when it is enough
	work    sync.WaitGroup

	mu   sync.Mutex
	done []string // what was done to them
}

// note keeps what was done, for a failure to be understood.
func (tm *turmoil) note(format string, args ...any) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.done = append(tm.done, fmt.Sprintf(format, args...))
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05.000") }

func newTurmoil(t *testing.T, lease time.Duration, arguments ...string) *turmoil {
	t.Helper()
	tm := &turmoil{
		t: t, server: redistest.Start(t, arguments...), lease: lease,
		journal: filepath.Join(t.TempDir(), "journal"), seed: rand.Uint64(), over: make(chan struct{}),
	}
	t.Logf("seed %d", tm.seed)
	if err := os.WriteFile(tm.journal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return tm
}

// random is the dice of one of those who do something, so that its choices can be repeated.
func (tm *turmoil) random(number int) *rand.Rand {
	return rand.New(rand.NewPCG(tm.seed, uint64(number)))
}

// task is what the i-th of n processes does, with so many locks of its own, and as a
// visitor those of the next.
func (tm *turmoil) task(i, n, locks int) crowdTask {
	kinds := []string{"mutex", "fair", "write"}
	names := func(i int) (all []string) {
		for j := range locks {
			all = append(all, fmt.Sprintf("lock-%d-%d-%s", i, j, kinds[j%len(kinds)]))
		}
		return all
	}
	return crowdTask{URL: tm.server.URL(), Lease: tm.lease, Journal: tm.journal, Own: names(i), Others: names((i + 1) % n)}
}

// again does something at random intervals of up to a time, until it is enough.
func (tm *turmoil) again(number int, longest time.Duration, do func(dice *rand.Rand)) {
	dice := tm.random(number)
	tm.work.Go(func() {
		for tm.rest(time.Duration(dice.Int64N(int64(longest)))) {
			do(dice)
		}
	})
}

// rest waits for a while, and reports whether it is not enough yet.
func (tm *turmoil) rest(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-tm.over:
		return false
	}
}

// run lets it all happen for a while.
func (tm *turmoil) run(d time.Duration) {
	time.AfterFunc(d, func() { close(tm.over) })
	tm.work.Wait()
}

// verdict is what the journal tells.
func (tm *turmoil) verdict() verdict {
	tm.t.Helper()
	text := redistest.Must(os.ReadFile(tm.journal))
	return judge(string(text))
}

// Story 5: hundreds of holders, each process stopped at random for several leases, and two
// watchdogs, one of which is killed and started again all the time. Nobody overlaps, and no
// hold is lost.
func TestLongHoldersArePausedAtRandomWhileAWatchdogDiesAllTheTime(t *testing.T) {
	processes, locks, length, pause := 6, 10, 10*time.Second, 3.0
	if s := redistest.Stretch(1); s > 1 {
		processes, locks, length, pause = 50, 10, time.Duration(s)*20*time.Second, 10
	}
	tm := newTurmoil(t, 3*time.Second)
	steady := startDog(t, tm.server.URL())
	steady.awaitReady(true)
	var all []*crowdProcess
	for i := range processes {
		all = append(all, startCrowd(t, tm.task(i, processes, locks)))
	}
	var pauses, kills atomic.Int64
	for i, p := range all {
		tm.again(i, tm.lease/2, func(dice *rand.Rand) {
			p.Process.Signal(syscall.SIGSTOP)
			stopped := time.Now()
			tm.rest(time.Duration(dice.Float64() * pause * float64(tm.lease)))
			p.Process.Signal(syscall.SIGCONT)
			tm.note("pid %d was stopped from %v to %v", p.Process.Pid, clock(stopped), clock(time.Now()))
			pauses.Add(1)
		})
	}
	tm.again(len(all), time.Second, func(dice *rand.Rand) {
		d := startDog(t, tm.server.URL())
		tm.rest(time.Second + time.Duration(dice.Int64N(int64(time.Second))))
		d.kill()
		tm.note("a watchdog was killed at %v:\n%s", clock(time.Now()), d.log.String())
		kills.Add(1)
	})
	tm.run(length)
	for _, p := range all {
		p.stdin.Close()
	}
	for _, p := range all {
		p.end(t)
	}
	v := tm.verdict()
	t.Logf("%d visits, %d pauses, %d watchdogs killed", v.visits, pauses.Load(), kills.Load())
	if v.overlaps > 0 || v.lost > 0 {
		t.Errorf("%d overlaps, %d holds lost:\n%s", v.overlaps, v.lost, strings.Join(v.story, "\n"))
		t.Logf("what was done:\n%s\nthe other watchdog:\n%s", strings.Join(tm.done, "\n"), steady.log.String())
	}
	if v.visits < processes*locks || pauses.Load() == 0 || kills.Load() == 0 {
		t.Error("too little has happened for this to mean anything")
	}
	if keys := tm.server.Keys(t, "redlatch:session*"); len(keys) > 0 {
		t.Errorf("left behind are %v", keys)
	}
}

// Goal: whatever dies when, a session is not left behind, nor a lock. Method: clients,
// watchdogs and Redis are killed at random, and at last all clients; then a watchdog has
// to find nothing any more. Redis once forgets everything with its end, once nothing.
func TestNothingIsLeftWhateverDies(t *testing.T) {
	for name, arguments := range map[string][]string{
		"redis forgets":   nil,
		"redis remembers": {"--appendonly", "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const processes, locks = 3, 6
			tm := newTurmoil(t, 2*time.Second, arguments...)
			var dead atomic.Int64
			for i := range processes {
				task := tm.task(i, processes, locks)
				tm.again(i, 100*time.Millisecond, func(dice *rand.Rand) {
					p, err := launchCrowd(t, task)
					if err != nil {
						return // Redis is away
					}
					tm.rest(time.Duration(dice.Int64N(int64(2 * tm.lease))))
					if dice.IntN(2) == 0 {
						p.Process.Signal(syscall.SIGSTOP)
						tm.rest(time.Duration(dice.Int64N(int64(2 * tm.lease))))
					}
					p.Process.Kill()
					<-p.exited
					dead.Add(1)
				})
			}
			for i := range 2 {
				tm.again(processes+i, 500*time.Millisecond, func(dice *rand.Rand) {
					d := startDog(t, tm.server.URL())
					tm.rest(time.Duration(dice.Int64N(int64(2 * tm.lease))))
					d.kill()
				})
			}
			restarts := 0
			tm.again(processes+2, 2*tm.lease, func(dice *rand.Rand) {
				tm.server.Kill()
				tm.rest(time.Duration(dice.Int64N(int64(tm.lease / 2))))
				tm.server.Restart(t)
				restarts++
			})
			tm.run(time.Duration(redistest.Stretch(1)) * 7 * time.Second)
			startDog(t, tm.server.URL()).awaitReady(true)
			redistest.Eventually(t, 30*time.Second, func() bool { return len(leftIn(t, tm.server)) == 0 }, "nothing is left")
			t.Logf("%d clients were killed, and Redis %d times", dead.Load(), restarts)
			if dead.Load() == 0 {
				t.Error("too little has happened for this to mean anything")
			}
		})
	}
}

// leftIn are the keys on a server that are neither a watchdog's nor, as a killed client's
// place in a queue, to be cleared away by the next that waits there. A fair lock itself counts.
func leftIn(t *testing.T, server *redistest.Server) []string {
	t.Helper()
	var left []string
	for _, key := range server.Keys(t, "*") {
		if key != protocol.Watchdogs && !isQueue(key) {
			left = append(left, key)
		}
	}
	return left
}

// isQueue says that a key is a part of the queue of a fair lock.
func isQueue(key string) bool {
	name := strings.TrimSuffix(key[strings.LastIndex(key, "{")+1:], "}")
	return slices.Contains([]string{protocol.FairQueue(name), protocol.FairDeadlines(name), protocol.FairKeepAlives(name)}, key)
}
