package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// asHolder makes the test binary a process that holds a lock: a holderTask in JSON.
const asHolder = "REDLATCH_TEST_HOLDER"

func init() {
	if spec := os.Getenv(asHolder); spec != "" {
		play(beHolder(spec))
	}
}

// play ends a process that is none of tests.
func play(err error) {
	if err != nil {
		tell(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// holderTask is what it is to do.
type holderTask struct {
	URL, Lock string
	Lease     time.Duration
	Guarded   string // the key that it writes to when it is told to
}

// others are the locks that a holder has besides, of every kind; the re-entrant ones twice.
var others = []string{"again", "fair", "read", "write"}

// holding is what such a process does. It says on the pipe of its tree
//
//	holds PID    it has the lock, and knows of a watchdog if it is to wait for one
//	watchdogs N  it knows of so many
//	valid        it was valid when it looked first after a pause: only if Redis had answered
//	doubts       after a pause, it has a hold that is neither valid nor lost
//	kept AFTER   it was, and is valid again, so long after the pause
//	lost AFTER   it has learned ErrLost
//	wrote ERROR  it has written past the guard, or not
//	left ERROR   it has given the lock back
type holding struct {
	task  holderTask
	pipe  *os.File
	hold  *redlatch.Hold   // of the lock that others want
	holds []*redlatch.Hold // all of them
}

func beHolder(spec string) error {
	var h holding
	if err := json.Unmarshal([]byte(spec), &h.task); err != nil {
		return err
	}
	var err error
	if h.pipe, err = os.OpenFile(os.Getenv("TREE"), os.O_WRONLY, 0); err != nil {
		return err
	}
	defer h.pipe.Close()
	ctx := context.Background()
	client, err := redlatch.Open(ctx, h.task.URL, redlatch.Config{LeaseTime: h.task.Lease, Protect: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := h.lock(ctx, client); err != nil {
		return err
	}
	if err := redistest.AwaitSession(ctx, client.Driver(), client.ID(), 5); err != nil {
		return err
	}
	h.say("holds %d", os.Getpid())
	orders := make(chan string)
	go func() {
		defer close(orders)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			orders <- lines.Text()
		}
	}()
	h.watch(client, orders)
	h.say("left %v", h.unlock(ctx))
	return client.Close(ctx)
}

func (h *holding) lock(ctx context.Context, client *redlatch.Client) (err error) {
	if h.hold, err = client.Mutex(h.task.Lock).Lock(ctx, redlatch.WithFencing()); err != nil {
		return err
	}
	h.holds = append(h.holds, h.hold)
	one := client.WithOwner(ctx)
	for _, take := range []func(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error){
		client.Mutex("again").Lock, client.Mutex("again").Lock, client.FairMutex("fair").Lock,
		client.RWMutex("read").RLock, client.RWMutex("read").RLock, client.RWMutex("write").Lock,
	} {
		hold, err := take(one)
		if err != nil {
			return err
		}
		h.holds = append(h.holds, hold)
	}
	return nil
}

func (h *holding) unlock(ctx context.Context) error {
	var all []error
	for _, hold := range h.holds {
		all = append(all, hold.Unlock(ctx))
	}
	return errors.Join(all...)
}

// look says whether all holds are valid, and by err why one is not held any more.
func (h *holding) look() (valid bool, err error) {
	valid = true
	for _, hold := range h.holds {
		valid = hold.Valid() && valid
		err = errors.Join(err, hold.Err(), hold.Context().Err())
	}
	return valid && err == nil, err
}

func (h *holding) say(format string, args ...any) { fmt.Fprintf(h.pipe, format+"\n", args...) }

// watch looks at the hold all the time, and carries out orders until there are no more.
// What counts is the first look after a pause, before Redis can have answered.
func (h *holding) watch(client *redlatch.Client, orders <-chan string) {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	last, watchdogs := time.Now(), -1
	var resumed time.Time // while the outcome of a pause is open
	for {
		now := time.Now()
		valid, err := h.look()
		if now.Sub(last) > h.task.Lease {
			resumed = now
			switch {
			case valid:
				h.say("valid after a pause of %v", now.Sub(last))
			case err == nil:
				h.say("doubts")
			}
		}
		last = now
		if !resumed.IsZero() && (valid || err != nil) {
			outcome := map[bool]string{true: "kept", false: "lost"}[valid]
			h.say("%s %v", outcome, now.Sub(resumed))
			resumed = time.Time{}
		}
		if n := client.Stats().Watchdogs; n != watchdogs {
			watchdogs = n
			h.say("watchdogs %d", n)
		}
		select {
		case order, more := <-orders:
			if !more {
				return
			}
			if order == "write" {
				h.say("wrote %v", fence.Redis{Driver: client.Driver()}.Set(context.Background(), h.hold.Token(), h.task.Guarded, "holder"))
			}
		case <-ticker.C:
		}
	}
}

// holder is such a process.
type holder struct {
	*exec.Cmd
	t     *testing.T
	tree  *proctest.Tree
	stdin io.WriteCloser
}

// startHolder starts one and waits until it holds the lock and knows of so many watchdogs.
func startHolder(t *testing.T, task holderTask, watchdogs int) *holder {
	t.Helper()
	spec, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{Cmd: exec.Command(os.Args[0]), t: t, tree: proctest.NewTree(t)}
	h.Env = append(os.Environ(), asHolder+"="+string(spec), h.tree.Env(), "GORACE=atexit_sleep_ms=0")
	h.Stderr = os.Stderr
	if h.stdin, err = h.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Process.Kill(); h.Wait() })
	h.tree.Await("holds")
	h.awaitSaid(fmt.Sprintf("watchdogs %d", watchdogs))
	return h
}

// awaitSaid waits for a line.
func (h *holder) awaitSaid(line string) {
	h.t.Helper()
	redistest.Eventually(h.t, 20*time.Second, func() bool { return h.said(line) }, "the holder says "+line)
}

// said tells whether a line that begins like this was said.
func (h *holder) said(begin string) bool {
	return slices.ContainsFunc(h.tree.Said(), func(line string) bool { return strings.HasPrefix(line, begin) })
}

// stop stops the process, and returns when it stands still.
func (h *holder) stop() {
	h.t.Helper()
	stopProcess(h.t, h.Process)
}

// stopProcess stops a process with all its threads, and returns when they stand still.
func stopProcess(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(t, p.Pid)
}

// awaitStopped waits until a process stands still.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && strings.HasPrefix(state, "T")
	}, "the process stands still")
}

func (h *holder) resume() {
	h.t.Helper()
	if err := h.Process.Signal(syscall.SIGCONT); err != nil {
		h.t.Fatal(err)
	}
}

// order tells it to do something.
func (h *holder) order(what string) {
	h.t.Helper()
	redistest.Must(h.stdin.Write([]byte(what + "\n")))
}

// release lets it give back the lock and end, and returns what the release said.
func (h *holder) release() string {
	h.t.Helper()
	h.stdin.Close()
	return h.tree.Await("left")
}
