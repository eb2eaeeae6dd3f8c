package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// asCrowd makes the test binary a process that holds many locks in turn: a crowdTask in JSON.
const asCrowd = "REDLATCH_TEST_CROWD"

func init() {
	if spec := os.Getenv(asCrowd); spec != "" {
		play(beCrowd(spec))
	}
}

// crowdTask is what it is to do until its stdin ends.
type crowdTask struct {
	URL     string
	Lease   time.Duration
	Journal string   // a file that all processes append to, a line in one write
	Own     []string // locks that it holds for up to twice the lease
	Others  []string // locks that it holds for a moment
}

// The journal's lines are a verb, a lock, and who: "PID:N.M" for the M-th visit of the N-th visitor.
const (
	enters   = "enters"   // after the lock was granted
	leaves   = "leaves"   // before it is released
	loses    = "loses"    // after leaves: the hold was lost
	forfeits = "forfeits" // in the place of loses: the process was paused before a watchdog could know of the hold
)

// crowd is such a process.
type crowd struct {
	task    crowdTask
	client  *redlatch.Client
	journal *os.File
}

func beCrowd(spec string) error {
	var c crowd
	if err := json.Unmarshal([]byte(spec), &c.task); err != nil {
		return err
	}
	var err error
	if c.journal, err = os.OpenFile(c.task.Journal, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	c.client, err = redlatch.Open(ctx, c.task.URL, redlatch.Config{LeaseTime: c.task.Lease, Protect: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var visits sync.WaitGroup
	for i, lock := range c.task.Own {
		visits.Go(func() { c.visit(ctx, lock, i, 2*c.task.Lease) })
	}
	for i, lock := range c.task.Others {
		visits.Go(func() { c.visit(ctx, lock, len(c.task.Own)+i, c.task.Lease/20) })
	}
	visits.Wait()
	return c.client.Close(context.Background())
}

// lockOf makes a lock of the kind that its name ends with.
func (c *crowd) lockOf(name string) redlatch.Lock {
	switch {
	case strings.HasSuffix(name, "fair"):
		return c.client.FairMutex(name)
	case strings.HasSuffix(name, "write"):
		return c.client.RWMutex(name)
	}
	return c.client.Mutex(name)
}

// visit holds a lock again and again, for up to a time.
func (c *crowd) visit(ctx context.Context, name string, n int, longest time.Duration) {
	lock := c.lockOf(name)
	for m := 0; ctx.Err() == nil; m++ {
		who := fmt.Sprintf("%d:%d.%d", os.Getpid(), n, m)
		hold, err := lock.Lock(ctx)
		if err != nil {
			time.Sleep(20 * time.Millisecond) // the server is away
			continue
		}
		c.note(enters, name, who)
		granted := hold.Deadline().Add(-hold.Lease())
		covered := coverage(granted)
		c.stay(ctx, hold, rand.N(longest))
		c.note(leaves, name, who)
		switch lost := errors.Is(hold.Unlock(context.Background()), redlatch.ErrLost); {
		case lost && !covered.Load() && time.Since(granted) >= pausedFor:
			c.note(forfeits, name, who)
		case lost:
			c.note(loses, name, who)
		}
		time.Sleep(rand.N(c.task.Lease / 10))
	}
}

// pausedFor is the time after which a process was paused that had something to do sooner.
const pausedFor = time.Second

// coverage tells whether a watchdog knows of a hold. After 100 ms the session has told of it, if the process was not paused
// meanwhile (docs/watchdog.md).
func coverage(granted time.Time) *atomic.Bool {
	covered := new(atomic.Bool)
	time.AfterFunc(100*time.Millisecond, func() { covered.Store(time.Since(granted) < pausedFor) })
	return covered
}

// stay keeps a hold for a time, and longer while it is in doubt.
func (c *crowd) stay(ctx context.Context, hold *redlatch.Hold, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case <-hold.Done():
	}
	for !hold.Valid() && hold.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

func (c *crowd) note(verb, lock, who string) {
	redistest.Must(fmt.Fprintf(c.journal, "%s %s %s\n", verb, lock, who))
}

// verdict is what a journal tells.
type verdict struct {
	visits, lost, overlaps int
	story                  []string // of an overlap
}

// judge reads a journal. Whoever enters while another one is inside overlaps with it. A visit whose hold was forfeited
// overlaps with nobody.
func judge(journal string) verdict {
	var v verdict
	var lines [][]string // a verb, a lock, and who
	forfeited := map[string]bool{}
	for line := range strings.Lines(journal) {
		words := strings.Fields(line)
		lines = append(lines, words)
		if words[0] == forfeits {
			forfeited[words[2]] = true
		}
	}
	inside := map[string]string{} // who is, by lock
	past := map[string][]string{} // what has happened, by lock
	for _, words := range lines {
		verb, lock, who := words[0], words[1], words[2]
		past[lock] = append(past[lock], strings.Join(words, " "))
		if verb == enters {
			v.visits++
		}
		switch {
		case forfeited[who]:
		case verb == enters:
			if other, taken := inside[lock]; taken {
				v.overlaps++
				v.story = append(slices.Clone(past[lock]), "while "+other+" is inside")
			}
			inside[lock] = who
		case verb == leaves:
			if inside[lock] == who {
				delete(inside, lock)
			}
		case verb == loses:
			v.lost++
		}
	}
	return v
}

// crowdProcess is a crowd, as its parent sees it.
type crowdProcess struct {
	*exec.Cmd
	stdin  io.Closer
	stderr output
	exited chan struct{}
	err    error // once exited is closed
}

// startCrowd starts one and waits until it is connected.
func startCrowd(t *testing.T, task crowdTask) *crowdProcess {
	t.Helper()
	p, err := launchCrowd(t, task)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// launchCrowd is startCrowd where it may fail, since its server may be away.
func launchCrowd(t *testing.T, task crowdTask) (*crowdProcess, error) {
	spec, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	p := &crowdProcess{Cmd: exec.Command(os.Args[0]), exited: make(chan struct{})}
	p.Env = append(os.Environ(), asCrowd+"="+string(spec), "GORACE=atexit_sleep_ms=0", "GOTRACEBACK=all")
	p.Stderr = &p.stderr
	if p.stdin, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	var word string
	_, scanned := fmt.Fscan(out, &word)
	go func() {
		defer close(p.exited)
		p.err = p.Wait()
	}()
	t.Cleanup(func() { p.Process.Kill(); <-p.exited })
	if word != "ready" {
		return nil, fmt.Errorf("a crowd says %q instead of ready: %w", word, scanned)
	}
	return p, nil
}

// end lets it finish, and checks that it does so in order.
func (p *crowdProcess) end(t *testing.T) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		p.Process.Signal(syscall.SIGQUIT) // for its goroutines
		<-p.exited
	}
	if p.err != nil {
		t.Errorf("a crowd, pid %d, ended: %v\n%s", p.Process.Pid, p.err, p.stderr.String())
	}
}

func TestTheJournalIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		journal string
		want    verdict
	}{
		"in turn":             {"enters a 1:1\nleaves a 1:1\nenters a 2:1\nleaves a 2:1\n", verdict{visits: 2}},
		"two locks":           {"enters a 1:1\nenters b 2:1\n", verdict{visits: 2}},
		"one after its loss":  {"enters a 1:1\nleaves a 1:1\nloses a 1:1\nenters a 2:1\n", verdict{visits: 2, lost: 1}},
		"two inside":          {"enters a 1:1\nenters a 2:1\nleaves a 1:1\n", verdict{visits: 2, overlaps: 1}},
		"before a forfeit":    {"enters a 1:1.0\nenters a 2:1.0\nleaves a 1:1.0\nforfeits a 1:1.0\n", verdict{visits: 2}},
		"inside another":      {"enters a 2:1.0\nenters a 1:1.0\nleaves a 1:1.0\nforfeits a 1:1.0\nleaves a 2:1.0\n", verdict{visits: 2}},
		"another forfeit":     {"enters a 1:1.0\nenters a 2:1.0\nleaves a 1:1.0\nenters a 1:1.1\nleaves a 1:1.1\nforfeits a 1:1.1\n", verdict{visits: 3, overlaps: 1}},
		"a loss is no excuse": {"enters a 1:1.0\nenters a 2:1.0\nleaves a 1:1.0\nloses a 1:1.0\n", verdict{visits: 2, lost: 1, overlaps: 1}},
	} {
		got := judge(c.journal)
		got.story = nil
		if got.visits != c.want.visits || got.lost != c.want.lost || got.overlaps != c.want.overlaps {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
