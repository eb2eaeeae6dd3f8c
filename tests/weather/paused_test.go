package weather_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/watchdog"
)

// Real processes, real signals, a real watchdog: what a protected process finds when it
// goes on after a pause.

// pausedEnv makes the test binary a process that takes a lock of every kind and reports
// what becomes of them in a pause: "URL NAME LEASE".
const pausedEnv = "REDLATCH_TEST_PAUSED"

func init() { asChild(pausedEnv, holdAllAndReport) }

// holdAllAndReport prints what its holds say at the first moment after a pause, what they
// say when Redis has answered for each, and what their release comes to.
func holdAllAndReport(url, name string, lease time.Duration) error {
	ctx := context.Background()
	c, err := redlatch.Open(ctx, url, fixture.Quiet(redlatch.Config{LeaseTime: lease, Protect: true, CommandTimeout: 10 * time.Second}))
	if err != nil {
		return err
	}
	owner := c.WithOwner(ctx)
	all := []*redlatch.Hold{
		check.Must(c.Mutex(name + "m").Lock(ctx)),
		check.Must(c.FairMutex(name + "f").Lock(ctx)),
		check.Must(c.RWMutex(name + "w").Lock(ctx)),
		check.Must(c.RWMutex(name + "r").RLock(owner)),
		check.Must(c.RWMutex(name + "r").RLock(owner)),
		check.Must(c.Mutex(name+"e").Lock(ctx, redlatch.WithMaxHold(lease+lease/3))),
		check.Must(c.Mutex(name+"l").Lock(ctx, redlatch.WithLease(2*lease))),
	}
	if err := redistest.AwaitSession(ctx, c.Driver(), c.ID(), 5); err != nil {
		return err
	}
	last := time.Now() // before the parent knows, and stops the process
	fmt.Println("held", c.ID())
	for ; time.Since(last) < lease; time.Sleep(time.Millisecond) {
		last = time.Now()
	}
	// The process has just gone on, and no answer can be here.
	fmt.Println("first", describe(all))
	limit := time.Now().Add(10 * time.Second)
	for !answered(all) && time.Now().Before(limit) {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("then", describe(all))
	var results []string
	for _, h := range all {
		err := h.Unlock(ctx)
		results = append(results, fmt.Sprint(err == nil, errors.Is(err, redlatch.ErrLost)))
	}
	fmt.Println("unlocked", strings.Join(results, ", "))
	return c.Close(ctx)
}

func describe(all []*redlatch.Hold) string {
	var words []string
	for _, h := range all {
		switch {
		case h.Valid():
			words = append(words, "valid")
		case h.Err() == nil && h.Context().Err() == nil:
			words = append(words, "unconfirmed")
		case errors.Is(h.Err(), redlatch.ErrLost):
			words = append(words, "lost")
		default:
			words = append(words, "odd")
		}
	}
	return strings.Join(words, " ")
}

func answered(all []*redlatch.Hold) bool { return !strings.Contains(describe(all), "unconfirmed") }

// runWatchdog runs a watchdog until the end of the test.
func runWatchdog(t *testing.T, address string, cfg watchdog.Config) {
	t.Helper()
	runWatchdogOn(t, fixture.Raw(t, "redis://"+address), cfg)
}

// runWatchdogOn runs a watchdog on a connection.
func runWatchdogOn(t *testing.T, d driver.Driver, cfg watchdog.Config) {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	w := check.Must(watchdog.New(d, cfg))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	redistest.Eventually(t, 10*time.Second, func() bool { return w.Stats().Looks > 0 }, "the watchdog looks")
}

// pausedProcess is a process that is stopped for longer than its lease, and goes on when
// Redis is slow to answer.
func pausedProcess(t *testing.T, address string, lease time.Duration, meanwhile func(name string)) (first, then, unlocked string) {
	t.Helper()
	proxy := redistest.NewProxy(t, address)
	name := redistest.Name(t)
	p := startProcess(t, pausedEnv, proxy.URL(), name, lease)
	client := strings.TrimPrefix(p.line(t), "held ")
	p.signal(t, redistest.SIGSTOP)
	pause := time.NewTimer(2 * lease)
	<-pause.C
	meanwhile(name)
	proxy.Delay(300 * time.Millisecond) // each request, one after another
	p.signal(t, redistest.SIGCONT)
	first, then = p.line(t), p.line(t)
	proxy.Delay(0)
	unlocked = p.line(t)
	_, _ = io.Copy(io.Discard, p.out)
	d := fixture.Raw(t, "redis://"+address)
	for what, words := range map[string][]string{
		"session":   {"EXISTS", protocol.SessionKey(client)},
		"heartbeat": {"ZSCORE", protocol.Sessions, client},
	} {
		if reply := d.Do(t.Context(), driver.Command{Words: words}); reply.Err != nil || reply.Int != 0 || reply.Str != "" {
			t.Errorf("its %s is left: %+v", what, reply)
		}
	}
	return first, then, unlocked
}

const pausedLease = 3 * time.Second

func TestLongAProtectedProcessKeepsHoldsOfEveryKindThroughAPause(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	runWatchdog(t, server.Addr(), watchdog.Config{})
	first, then, unlocked := pausedProcess(t, server.Addr(), pausedLease, func(name string) {
		c := fixture.Open(t, server.URL(), redlatch.Config{})
		for what, l := range map[string]redlatch.Lock{
			"mutex": c.Mutex(name + "m"), "fair": c.FairMutex(name + "f"), "write": c.RWMutex(name + "w"), "read": c.RWMutex(name + "r"),
		} {
			if _, err := l.TryLock(t.Context()); !errors.Is(err, redlatch.ErrNotAcquired) {
				t.Errorf("a rival for the %s lock: %v", what, err)
			}
		}
		status := check.Must(c.RWMutex(name + "r").Status(t.Context()))
		if len(status.Holders) != 1 || status.Holders[0].Count != 2 {
			t.Errorf("the read lock is %+v, want one reader with two holds", status)
		}
		if _, err := c.Mutex(name + "e").TryLock(t.Context()); err != nil {
			t.Error("a rival for the lock whose hold is over:", err)
		}
		if _, err := c.Mutex(name + "l").TryLock(t.Context()); err != nil {
			t.Error("a rival for the lock whose lease is over:", err)
		}
	})
	// One whose end has come, or whose lease was fixed, is over whatever Redis says: the
	// engine says so as soon as it runs.
	got := strings.Fields(strings.TrimPrefix(first, "first "))
	if want := "unconfirmed unconfirmed unconfirmed unconfirmed unconfirmed"; strings.Join(got[:5], " ") != want {
		t.Errorf("at the first moment the holds are %q, want %q", first, want)
	}
	if want := "then valid valid valid valid valid lost lost"; then != want {
		t.Errorf("after the answers the holds are %q, want %q", then, want)
	}
	if want := "unlocked true false, true false, true false, true false, true false, false true, false true"; unlocked != want {
		t.Errorf("the holds are released as %q, want %q", unlocked, want)
	}
}

func TestLongAProtectedProcessWithoutAWatchdogLosesItsHoldsAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	first, then, unlocked := pausedProcess(t, server.Addr(), pausedLease, func(string) {})
	if want := "lost lost lost lost lost lost lost"; first != "first "+want || then != "then "+want {
		t.Errorf("the holds are %q and %q, want %q", first, then, want)
	}
	if strings.Contains(unlocked, "true false") {
		t.Errorf("a lost hold was released: %q", unlocked)
	}
}

// Goal: a watchdog is no excuse for a process that runs and is cut off.
func TestLongAPartitionEndsAProtectedHoldAtItsDeadline(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	runWatchdog(t, server.Addr(), watchdog.Config{})
	proxy := redistest.NewProxy(t, server.Addr())
	c := fixture.Open(t, proxy.URL(), redlatch.Config{LeaseTime: pausedLease, Protect: true, CommandTimeout: 10 * time.Second})
	h := check.Must(c.Mutex("job").Lock(t.Context()))
	if c.Stats().Watchdogs != 1 {
		t.Fatalf("%d watchdogs are alive", c.Stats().Watchdogs)
	}
	proxy.Blackhole(true)
	deadline := h.Deadline() // an answer may be under way, and move it
	<-h.Context().Done()
	late := time.Since(h.Deadline())
	if h.Deadline().Before(deadline) {
		t.Error("the deadline moved back")
	}
	check.Within(t, "end of the hold after its deadline", late, 0, fixture.Slack)
	check.Is(t, "Err", h.Err(), redlatch.ErrLost)
	proxy.Blackhole(false)

	// It is on no record any more, so the lock ends.
	rival := fixture.Open(t, server.URL(), redlatch.Config{})
	free, err := rival.Mutex("job").Lock(t.Context(), redlatch.WithWait(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Unlock(t.Context())
}
