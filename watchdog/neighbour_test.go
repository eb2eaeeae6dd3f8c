package watchdog_test

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/watchdog"
)

// A neighbour is somebody on the same Redis who may write the record of its own session,
// as every client may. These tests write that record by hand, as a neighbour could.

// neighbour is a paused client whose record says what a test wants.
type neighbour struct {
	t      testing.TB
	server *redistest.Server
	id     string
}

const neighbourPulse = "PULSE"

func newNeighbour(t testing.TB, server *redistest.Server, d driver.Driver, id string, record ...string) *neighbour {
	t.Helper()
	n := &neighbour{t, server, id}
	pulse := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	t.Cleanup(pulse.Close)
	if err := pulse.Subscribe(t.Context(), "redlatch:pulse:{"+id+"}", "redlatch:pulse:{"+id+"}:"+neighbourPulse); err != nil {
		t.Fatal(err)
	}
	server.CLI(t, append([]string{"HSET", n.key(), "pulse", neighbourPulse}, record...)...)
	n.overdue(time.Second)
	return n
}

func (n *neighbour) key() string { return "redlatch:session:{" + n.id + "}" }

// overdue makes its heartbeat late by d, by this machine's clock, which is the server's.
func (n *neighbour) overdue(d time.Duration) {
	n.server.CLI(n.t, "ZADD", "redlatch:sessions", strconv.FormatInt(time.Now().Add(-d).UnixMilli(), 10), n.id)
}

// lock makes a lock of the neighbour's own, or of anybody else.
func (n *neighbour) lock(name, field string, ttl time.Duration) {
	n.server.CLI(n.t, "HSET", name, field, "1")
	if ttl > 0 {
		n.server.CLI(n.t, "PEXPIRE", name, strconv.FormatInt(ttl.Milliseconds(), 10))
	}
}

// Goal: what a session says moves nothing but locks of that very client, and those only
// upwards and within bounds. Method: a record that names everything that was ever abused.
func TestARecordMovesNothingThatIsNotItsClients(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	forever := strconv.FormatInt(math.MaxInt64, 10)
	n := newNeighbour(t, server, connect(t, server.Addr()), "nb",
		"name user:1", "exclusive 1 1000 0",
		"name user:2", "exclusive 1 "+forever+" 0",
		"name user:3", "exclusive 1 1 0",
		"victim:1 job", "exclusive 1 3600000 0",
		"nb:1:write:2 odd", "exclusive 1 3600000 0",
		"nb:1 kept", "exclusive 1 1000 0",
		"nb:1 endless", "exclusive 1 9007199254740991 0",
		"nb:1 overflow", "exclusive 1 "+forever+" 0",
		"nb:1 persistent", "exclusive 1 20000 0",
		"nb:1 text", "exclusive 1 20000 0",
		"nb:1 mine", "exclusive 1 20000 0",
	)
	n.lock("user:1", "name", 0)
	n.lock("user:2", "name", 0)
	n.lock("user:3", "name", time.Minute)
	n.lock("job", "victim:1", 30*time.Second)
	n.lock("odd", "nb:1:write:2", 30*time.Second)
	n.lock("kept", "nb:1", time.Minute)
	n.lock("endless", "nb:1", 30*time.Second)
	n.lock("overflow", "nb:1", 30*time.Second)
	n.lock("persistent", "nb:1", 0)
	server.CLI(t, "SET", "text", "nb:1")
	n.lock("mine", "nb:1", 10*time.Second)

	w := run(t, connect(t, server.Addr()), watchdog.Config{})
	eventually(t, func() bool { return server.PTTL(t, "mine") > 15*time.Second }, "the neighbour's own lock is renewed")
	looks := w.Stats().Looks
	eventually(t, func() bool { return w.Stats().Looks > looks+5 }, "it looks again")
	for name, want := range map[string]struct{ least, most time.Duration }{
		"user:1":     {-time.Millisecond, -time.Millisecond}, // it stands, without an expiry
		"user:2":     {-time.Millisecond, -time.Millisecond},
		"user:3":     {40 * time.Second, time.Minute},
		"job":        {5 * time.Second, 30 * time.Second},
		"odd":        {5 * time.Second, 30 * time.Second},
		"kept":       {40 * time.Second, time.Minute},
		"endless":    {59 * time.Minute, time.Hour},
		"overflow":   {59 * time.Minute, time.Hour},
		"persistent": {-time.Millisecond, -time.Millisecond},
		"text":       {-time.Millisecond, -time.Millisecond},
		"mine":       {15 * time.Second, 20 * time.Second},
	} {
		if ttl := server.PTTL(t, name); ttl < want.least || ttl > want.most {
			t.Errorf("%s has a TTL of %v, want %v to %v", name, ttl, want.least, want.most)
		}
	}
}

// Goal: a key in the place of a session that is no record of that client is never removed.
func TestWhatIsNoSessionIsNeverRemoved(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for id, overdue := range map[string]time.Duration{"gone": time.Second, "long-gone": time.Hour} {
		n := &neighbour{t, server, id}
		server.CLI(t, "HSET", n.key(), "theme", "dark")
		n.overdue(overdue)
	}
	run(t, connect(t, server.Addr()), watchdog.Config{})
	eventually(t, func() bool { return server.CLI(t, "EXISTS", "redlatch:sessions") == int64(0) }, "nobody is waited for")
	for _, id := range []string{"gone", "long-gone"} {
		if theme := server.CLI(t, "HGET", (&neighbour{t, server, id}).key(), "theme"); theme != "dark" {
			t.Errorf("the hash of %s is gone", id)
		}
	}
}

// Goal: no record costs Redis or the watchdog more than a few megabytes, nor a healthy client
// its lock. Method: thirty entries of the highest counts, and one of a huge lock name.
func TestLongARecordOfHighCountsIsCheap(t *testing.T) {
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	healthy := newClient(t, d)
	healthy.hold("healthy", lease)
	var record []string
	for i := range 30 {
		record = append(record, fmt.Sprintf("nb:%d book%d", i, i), "read 65536 30000 0")
	}
	record = append(record, "nb:99 "+strings.Repeat("x", 8<<20), "exclusive 1 30000 0")
	n := newNeighbour(t, server, d, "nb", record...)
	for i := range 30 {
		n.lock(fmt.Sprint("book", i), fmt.Sprintf("nb:%d", i), time.Minute)
	}
	healthy.heartbeat()
	server.CLI(t, "CONFIG", "RESETSTAT")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := run(t, d, watchdog.Config{})
	lasts(t, lease*3/2, func() bool { return server.PTTL(t, "healthy") > 0 }, "the healthy client's lock lives")
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 {
		t.Errorf("the watchdog allocated %d MB", used)
	}
	if peak := peakMemory(t, server); peak > 80<<20 {
		t.Errorf("Redis needed %d MB", peak>>20)
	}
	if _, body := get(w.Watchdog, "/metrics"); strings.Contains(body, "\nredlatch_watchdog_skipped_total 0\n") || !strings.Contains(body, "\nredlatch_watchdog_skipped_total ") {
		t.Error("nobody was told that entries were skipped")
	}
}

func peakMemory(t testing.TB, server *redistest.Server) (bytes int64) {
	t.Helper()
	text, _ := server.CLI(t, "INFO", "memory").(string)
	_, text, _ = strings.Cut(text, "used_memory_peak:")
	fmt.Sscan(text, &bytes)
	return bytes
}

// Goal: nothing that a neighbour writes into the shared sets costs a healthy client its
// protection. Method: each trick by itself, beside a paused client.
func TestTheSharedSetsCannotDisableAWatchdog(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(t *testing.T, server *redistest.Server){
		"fractional scores": func(t *testing.T, server *redistest.Server) {
			words := []string{"ZADD", "redlatch:sessions"}
			for i := range 5000 {
				words = append(words, fmt.Sprintf("%d.5", time.Now().Add(-time.Hour).UnixMilli()+int64(i)), fmt.Sprint("nobody-", i))
			}
			server.CLI(t, words...)
		},
		"endless scores": func(t *testing.T, server *redistest.Server) {
			server.CLI(t, "ZADD", "redlatch:sessions", "-inf", "nobody", "inf", "never", "-9e300", "odd")
		},
		"long names": func(t *testing.T, server *redistest.Server) {
			server.CLI(t, "ZADD", "redlatch:sessions", "1", strings.Repeat("n", 4<<20), "2", strings.Repeat("m", 4<<20))
		},
		"300 watchdogs": func(t *testing.T, server *redistest.Server) {
			words := []string{"ZADD", "redlatch:watchdogs:{redlatch:sessions}"}
			for i := range 300 {
				words = append(words, strconv.FormatInt(time.Now().Add(5*time.Second).UnixMilli(), 10), fmt.Sprint("dog-", i))
			}
			server.CLI(t, words...)
		},
		"watchdogs for ever": func(t *testing.T, server *redistest.Server) {
			server.CLI(t, "ZADD", "redlatch:watchdogs:{redlatch:sessions}", "inf", "dog", "9e300", "dog2")
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			d := connect(t, server.Addr())
			spoil(t, server)
			c := newClient(t, d)
			c.hold("job", 2*lease)
			c.heartbeat()
			w := run(t, d, watchdog.Config{CommandTimeout: 10 * time.Second}) // a busy machine's slow answer is no failure
			spoilt := time.Now()
			lasts(t, 3*lease, func() bool {
				if (strings.HasPrefix(what, "300") || strings.HasPrefix(what, "fractional")) && time.Since(spoilt) > 100*time.Millisecond {
					spoil(t, server) // more often than it looks
					spoilt = time.Now()
				}
				return server.PTTL(t, "job") > 0
			}, "the healthy client's lock lives")
			if s := w.Stats(); s.Looks == 0 || s.Failures > 0 {
				t.Errorf("counted were %+v", s)
			}
		})
	}
}

// Goal: large sessions wait for others, not others for them. Method: there are more of them
// than are visited at a time, and each asks for far more than one request may.
func TestLongManyLargeSessionsCostNobodyElse(t *testing.T) { // alone: it keeps the machine busy
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	healthy := newClient(t, d)
	const large = 150 // 128 are visited at a time
	for i := range large {
		id := fmt.Sprint("nb", i)
		var record []string
		for j := range 100 {
			lock := fmt.Sprintf("book-%d-%d", i, j)
			record = append(record, id+":1 "+lock, "read 256 1000 0")
		}
		healthy.subscribe(protocol.PulseChannel(id, neighbourPulse))
		healthy.takeReads(id, record)
		server.CLI(t, append([]string{"HSET", "redlatch:session:{" + id + "}", "pulse", neighbourPulse}, record...)...)
	}
	late := []string{"ZADD", "redlatch:sessions"}
	for i := range large {
		late = append(late, strconv.FormatInt(time.Now().Add(-time.Second).UnixMilli(), 10), fmt.Sprint("nb", i))
	}
	server.CLI(t, late...)
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Renewals > large }, "the large ones are served")
	healthy.hold("healthy", lease)
	healthy.heartbeat()
	lasts(t, 2*lease, func() bool { return server.PTTL(t, "healthy") > 0 }, "the healthy client's lock lives")
	if s := w.Stats(); s.Stalled < large {
		t.Errorf("counted were %+v: this test tests nothing", s)
	}
}

// takeReads takes read locks for an hour: the odd ones of a record are entries, the even
// ones fields.
func (c *client) takeReads(id string, record []string) {
	c.t.Helper()
	var calls []script.Call
	for i := 0; i < len(record); i += 2 {
		_, lock, _ := strings.Cut(record[i], " ")
		calls = append(calls, script.NewRW(lock, protocol.Plain).Acquire(id+":1", script.Counts{Reads: 1}, time.Hour, false))
	}
	c.send(calls...)
}
