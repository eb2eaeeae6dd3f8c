package watchdog_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/watchdog"
)

// connect connects to a server until the end of the test.
func connect(t testing.TB, address string) *rueidis.Driver {
	t.Helper()
	return connectAs(t, address, "", "")
}

func connectAs(t testing.TB, address, user, password string) *rueidis.Driver {
	t.Helper()
	d := redistest.Must(rueidis.Open(context.Background(), rueidis.Options{Address: address, Username: user, Password: password}))
	t.Cleanup(d.Close)
	return d
}

// dog is a watchdog that runs.
type dog struct {
	*watchdog.Watchdog
	end func() // and wait until it has ended
}

// run runs a watchdog until the end of the test.
func run(t testing.TB, d driver.Driver, cfg watchdog.Config) dog {
	t.Helper()
	return runWith(t, d, cfg, slog.New(slog.DiscardHandler))
}

// runWith is run with a log.
func runWith(t testing.TB, d driver.Driver, cfg watchdog.Config, log *slog.Logger) dog {
	t.Helper()
	cfg.Logger = log
	w := redistest.Must(watchdog.New(d, cfg))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	end := func() { cancel(); running.Wait() }
	t.Cleanup(end)
	return dog{w, end}
}

// eventually is redistest.Eventually with enough time for a slow machine.
func eventually(t testing.TB, cond func() bool, what string) {
	t.Helper()
	redistest.Eventually(t, time.Minute, cond, what)
}

// lasts checks that a condition holds all the time for a while.
func lasts(t testing.TB, d time.Duration, cond func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if !cond() {
			t.Fatalf("%v before the end, no longer: %s", time.Until(end).Round(time.Millisecond), what)
		}
		pause := time.NewTimer(5 * time.Millisecond)
		<-pause.C
	}
}

// client is a protected client as Redis sees it: a session, a heartbeat, a pulse. It stands
// still from the start, as soon as its only heartbeat is overdue.
type client struct {
	t      testing.TB
	id     string
	driver driver.Driver
	runner *script.Runner
	pulse  driver.Listener
	heard  atomic.Int64 // subscriptions that were acknowledged
}

// sessionTTL is for how long the sessions of these clients outlive their last touch.
const sessionTTL = time.Minute

// overdueIn is when the heartbeat of these clients is overdue.
const overdueIn = 20 * time.Millisecond

// newClient makes one with a pulse. Its heartbeat is not there yet.
func newClient(t testing.TB, d driver.Driver) *client {
	t.Helper()
	return newClientBy(t, d, d)
}

// newClientBy is newClient with a pulse by way of another connection.
func newClientBy(t testing.TB, d, by driver.Driver) *client {
	t.Helper()
	c := &client{t: t, id: random.UUID(), driver: d, runner: script.NewRunner(d, 3*time.Second)}
	var err error
	c.pulse, err = by.Listen(t.Context(), driver.Events{Subscribed: func(string) { c.heard.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.die)
	c.subscribe(protocol.PulseChannel(c.id, pulse))
	c.send(script.SessionTouch(c.id, sessionTTL, pulse))
	return c
}

// pulse is the name of these clients' pulses.
const pulse = "the-pulse"

// subscribe adds to the pulse, and waits until it is there.
func (c *client) subscribe(channels ...string) {
	c.t.Helper()
	want := c.heard.Load() + int64(len(channels))
	if err := c.pulse.Subscribe(context.Background(), channels...); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, func() bool { return c.heard.Load() == want }, "the subscriptions are acknowledged")
}

// die lets the pulse go, as the kernel does for a process that dies.
func (c *client) die() { c.pulse.Close() }

// send sends calls, which must be answered without an error.
func (c *client) send(calls ...script.Call) []script.Result {
	c.t.Helper()
	results := redistest.Must(c.runner.RunAll(context.Background(), calls...))
	for _, r := range results {
		if r.Reply.Err != nil {
			c.t.Fatal(r.Reply.Err)
		}
	}
	return results
}

// heartbeat says that the client runs, for a moment.
func (c *client) heartbeat() { c.send(script.SessionHeartbeat(c.id, overdueIn)) }

func (c *client) owner(n int) string { return c.id + ":" + strconv.Itoa(n) }

// hold takes a mutex and notes it, in this order of a hold's life.
func (c *client) hold(lock string, lease time.Duration) script.SessionEntry {
	c.t.Helper()
	entry := script.SessionEntry{Field: c.owner(1), Lock: lock, Count: 1, Lease: lease}
	c.note(entry)
	c.send(script.Mutex{Lock: lock}.Acquire(entry.Field, script.Counts{Writes: 1}, lease, false))
	return entry
}

func (c *client) note(entries ...script.SessionEntry) {
	c.send(script.SessionNote(c.id, sessionTTL, entries...))
}

// noted are the entries of the session.
func (c *client) noted() []script.SessionEntry {
	c.t.Helper()
	page := redistest.Must(script.ReadSession(c.send(script.SessionRead(c.id, "0"))[0].Reply))
	return page.Entries
}

// left are our keys on a server; those of watchdogs do not count.
func left(t testing.TB, server *redistest.Server) []string {
	t.Helper()
	var keys []string
	for _, key := range server.Keys(t, "redlatch:*") {
		if key != protocol.Watchdogs {
			keys = append(keys, key)
		}
	}
	return keys
}
