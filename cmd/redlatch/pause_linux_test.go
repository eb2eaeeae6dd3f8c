package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The stories of a pause, with real processes and real signals.

// pauseLease is the lease of these locks.
const pauseLease = 4 * time.Second

// longPause is how long a holder is stopped: long enough for three leases to run out, and
// ten where there is time.
func longPause() time.Duration {
	if redistest.Stretch(1) > 1 {
		return 10 * pauseLease
	}
	return 3 * pauseLease
}

// rival is a client that waits for a lock, in this process.
type rival struct {
	client  *redlatch.Client
	entered chan struct{}
	hold    *redlatch.Hold // once entered is closed
}

// startRival starts one, which gives up at the end of the test.
func startRival(t *testing.T, url, lock string) *rival {
	t.Helper()
	client := redistest.Must(redlatch.Open(t.Context(), url, redlatch.Config{}))
	t.Cleanup(func() { client.Close(context.Background()) })
	r := &rival{client: client, entered: make(chan struct{})}
	ctx := t.Context()
	go func() {
		hold, err := client.Mutex(lock).Lock(ctx, redlatch.WithFencing())
		if err == nil {
			r.hold = hold
			close(r.entered)
		}
	}()
	return r
}

// entersWithin waits for the rival.
func (r *rival) entersWithin(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-r.entered:
	case <-time.After(d):
		t.Fatalf("the rival has not entered after %v", d)
	}
}

// staysOutFor checks that the rival does not enter.
func (r *rival) staysOutFor(t *testing.T, d time.Duration) {
	t.Helper()
	began := time.Now()
	select {
	case <-r.entered:
		t.Fatalf("the rival entered after %v", time.Since(began))
	case <-time.After(d):
	}
}

// findsHeld checks that nobody else can enter the other locks of the holder either.
func (r *rival) findsHeld(t *testing.T) {
	t.Helper()
	for _, name := range others {
		var lock redlatch.Lock = r.client.Mutex(name)
		switch name {
		case "fair":
			lock = r.client.FairMutex(name)
		case "read", "write":
			lock = r.client.RWMutex(name)
		}
		if hold, err := lock.TryLock(t.Context()); !errors.Is(err, redlatch.ErrNotAcquired) {
			t.Errorf("the rival asks for %s: %v, %v", name, hold, err)
		}
	}
}

func pauseTask(server *redistest.Server) holderTask {
	return holderTask{URL: server.URL(), Lock: "job", Lease: pauseLease, Guarded: "guarded"}
}

// Story 1, first half: protection without a watchdog is no protection, and no harm.
func TestLongWithoutAWatchdogAPausedHolderLosesItsLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h := startHolder(t, pauseTask(server), 0)
	r := startRival(t, server.URL(), "job")
	h.stop()
	r.entersWithin(t, pauseLease+5*time.Second)
	r.staysInFor(t, pauseLease)
	h.resume()
	learned, err := time.ParseDuration(h.tree.Await("lost"))
	if err != nil || learned > pauseLease {
		t.Errorf("the holder learned of its loss after %v, %v", learned, err)
	}
	h.release()
	if h.said("valid") || h.said("doubts") || h.said("kept") {
		t.Errorf("the holder said %q", h.tree.Said())
	}
	if !r.hold.Valid() {
		t.Error("the holder took the lock from the rival")
	}
}

// staysInFor checks that the rival's hold lasts.
func (r *rival) staysInFor(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-r.hold.Done():
		t.Fatal("the rival lost the lock:", r.hold.Err())
	case <-time.After(d):
	}
}

// Story 1, second half: with a watchdog nobody enters, and the holder works on.
func TestLongWithAWatchdogAPausedHolderKeepsItsLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	startDog(t, server.URL()).awaitReady(true)
	h := startHolder(t, pauseTask(server), 1)
	r := startRival(t, server.URL(), "job")
	h.stop()
	r.staysOutFor(t, longPause())
	server.Freeze() // so that the holder looks before Redis has answered
	h.resume()
	h.tree.Await("doubts")
	server.Thaw()
	r.findsHeld(t)
	t.Log("confirmed after", h.tree.Await("kept"))
	r.staysOutFor(t, 2*pauseLease) // it renews its holds by itself again
	r.findsHeld(t)
	h.order("write")
	if said := h.tree.Await("wrote"); said != "<nil>" {
		t.Errorf("the holder's write: %s", said)
	}
	if said := h.release(); said != "<nil>" {
		t.Errorf("the release: %s", said)
	}
	r.entersWithin(t, 3*time.Second)
	if h.said("valid") || h.said("lost") {
		t.Errorf("the holder said %q", h.tree.Said())
	}
}

// Story 2: a watchdog does not keep the dead alive, whether they were running or stopped.
func TestTheLockOfAKilledHolderIsFreeAfterItsLease(t *testing.T) {
	t.Parallel()
	for name, stopped := range map[string]bool{"running": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			dog := startDog(t, server.URL())
			dog.awaitReady(true)
			h := startHolder(t, pauseTask(server), 1)
			r := startRival(t, server.URL(), "job")
			if stopped {
				h.stop()
				r.staysOutFor(t, 2*pauseLease)
			}
			h.Process.Kill()
			h.tree.AwaitGone(10 * time.Second)
			r.entersWithin(t, pauseLease+3*time.Second) // what was under way when it died may still count
			redistest.Eventually(t, 10*time.Second, func() bool { return len(server.Keys(t, "redlatch:session*")) == 0 }, "nothing is left of the dead")
			redistest.Eventually(t, 10*time.Second, func() bool { return dog.metric(`redlatch_watchdog_removed_sessions_total{reason="dead"}`) == "1" }, "one session is counted as removed")
		})
	}
}

// Story 3: the watchdog's patience has an end, and the guard refuses who wakes up after it.
func TestLongAHolderThatIsPausedForTooLongIsLetGoAndItsLateWriteRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const patience = 4 * time.Second
	dog := startDog(t, server.URL(), "--max-pause", patience.String())
	dog.awaitReady(true)
	h := startHolder(t, pauseTask(server), 1)
	r := startRival(t, server.URL(), "job")
	h.stop()
	stopped := time.Now()
	r.staysOutFor(t, patience)
	r.entersWithin(t, 2*pauseLease+3*time.Second)
	t.Logf("the rival entered %v after the stop", time.Since(stopped))
	if err := (fence.Redis{Driver: r.client.Driver()}).Set(t.Context(), r.hold.Token(), "guarded", "rival"); err != nil {
		t.Fatal(err)
	}
	h.order("write") // is carried out when it goes on
	h.resume()
	h.tree.Await("lost")
	if said := h.tree.Await("wrote"); !strings.Contains(said, fence.ErrStale.Error()) {
		t.Errorf("the late write: %s", said)
	}
	if value := server.CLI(t, "GET", "guarded"); value != "rival" {
		t.Errorf("the guarded value is %v", value)
	}
	h.release()
	if h.said("valid") || h.said("kept") {
		t.Errorf("the holder said %q", h.tree.Said())
	}
	if !r.hold.Valid() {
		t.Error("the holder took the lock from the rival")
	}
	if n := dog.metric(`redlatch_watchdog_removed_sessions_total{reason="paused too long"}`); n != "1" {
		t.Errorf("%s sessions were let go", n)
	}
}

// Story 4: the watchdog that serves a stopped holder is stopped or killed; another takes
// over in time, and within two seconds.
func TestAnotherWatchdogTakesOver(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, d *dog){
		"killed":  func(_ *testing.T, d *dog) { d.kill() },
		"stopped": func(t *testing.T, d *dog) { stopProcess(t, d.command.Process) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			dogs := []*dog{startDog(t, server.URL()), startDog(t, server.URL())}
			for _, d := range dogs {
				d.awaitReady(true)
				redistest.Eventually(t, 20*time.Second, func() bool { return d.metric("redlatch_watchdog_alive") == "2" }, "both are alive")
			}
			h := startHolder(t, pauseTask(server), 2)
			r := startRival(t, server.URL(), "job")
			h.stop()
			serving := -1
			redistest.Eventually(t, 20*time.Second, func() bool {
				for i, d := range dogs {
					if d.metric("redlatch_watchdog_served_sessions") == "1" {
						serving = i
					}
				}
				return serving >= 0
			}, "one of them serves the holder")
			end(t, dogs[serving])
			other := dogs[1-serving]
			redistest.Eventually(t, 10*time.Second, func() bool { return other.metric("redlatch_watchdog_served_sessions") == "1" }, "the other one does")
			r.staysOutFor(t, longPause()) // it was in time
			h.resume()
			h.tree.Await("kept")
			if said := h.release(); said != "<nil>" {
				t.Errorf("the release: %s", said)
			}
			r.entersWithin(t, 3*time.Second)
			if end := dogs[serving].command.Process.Signal(syscall.SIGCONT); end != nil && !errors.Is(end, os.ErrProcessDone) {
				t.Error(end)
			}
		})
	}
}
