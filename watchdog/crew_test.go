package watchdog_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/watchdog"
)

// crowd makes clients that all stand still, with one pulse for all, since a connection for
// each is nothing that is to be tested here. Each holds one lock, named after it.
func crowd(t testing.TB, c *client, n int, lease time.Duration) (locks []string) {
	t.Helper()
	var channels []string
	var calls []script.Call
	for i := range n {
		id := fmt.Sprintf("client-%d", i)
		lock := "lock of " + id
		locks, channels = append(locks, lock), append(channels, protocol.PulseChannel(id, pulse))
		calls = append(calls,
			script.SessionNote(id, sessionTTL, script.SessionEntry{Field: id + ":1", Lock: lock, Count: 1, Lease: lease}),
			script.Mutex{Lock: lock}.Acquire(id+":1", script.Counts{Writes: 1}, lease, false),
			script.SessionTouch(id, sessionTTL, pulse),
			script.SessionHeartbeat(id, overdueIn))
	}
	c.subscribe(channels...)
	for part := range slices.Chunk(calls, 300) { // little enough for a slow machine's timeouts
		c.send(part...)
	}
	return locks
}

// alive counts the locks that stand.
func alive(t testing.TB, server *redistest.Server, locks []string) int {
	t.Helper()
	n, _ := server.CLI(t, append([]string{"EXISTS"}, locks...)...).(int64)
	return int(n)
}

// Goal: the work is shared, and whoever is left takes over from those that die. Method: a
// thousand clients stand still; of three watchdogs, two end without a word, because their
// connections go silent, while every lock must live on.
func TestLongThreeShareAThousandAndAnyOneOfThemIsEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const n = 1000
	c := newClient(t, connect(t, server.Addr()))
	const lease = 20 * time.Second // one processor has enough time
	var dogs []dog
	var proxies []*redistest.Proxy
	for range 3 {
		proxy := redistest.NewProxy(t, server.Addr())
		proxies = append(proxies, proxy)
		dogs = append(dogs, run(t, connect(t, proxy.Addr()), watchdog.Config{}))
	}
	locks := crowd(t, c, n, lease)
	serving := func() (all []int, sum int) {
		for _, d := range dogs {
			s := d.Stats()
			all, sum = append(all, s.Serving), sum+s.Serving
		}
		return all, sum
	}
	eventually(t, func() bool { _, sum := serving(); return sum == n && dogs[0].Stats().Watchdogs == 3 }, "all are served once")
	shares, _ := serving()
	t.Logf("the shares are %v", shares)
	for _, share := range shares {
		if share < n/4 || share > n*5/12 {
			t.Errorf("the shares are %v, want about a third each", shares)
		}
	}
	renewals := func() (sum int64) {
		for _, d := range dogs {
			sum += d.Stats().Renewals
		}
		return sum
	}
	eventually(t, func() bool { return renewals() >= 3*n }, "each of them has visited each client")
	before, began := renewals(), time.Now()
	lasts(t, lease, func() bool { return alive(t, server, locks) == n }, "every lock lives")
	leases := float64(time.Since(began)) / float64(lease)
	each := float64(renewals()-before) / n / leases
	t.Logf("each was renewed %.1f times in a lease", each)
	if each > 10 { // four by its own, two by each of the others; twelve if each took all for its own
		t.Errorf("each was renewed %.1f times in a lease: the work is not shared", each)
	}
	for i := range 2 {
		proxies[i].Blackhole(true)
		lasts(t, lease+500*time.Millisecond, func() bool { return alive(t, server, locks) == n }, "every lock lives on with "+strconv.Itoa(2-i))
	}
	if s := dogs[2].Stats(); s.Serving != n || s.Watchdogs != 1 {
		t.Errorf("the last one says %+v", s)
	}
}

// A watchdog that ends by itself does not leave the others to find out.
func TestAWatchdogThatEndsSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	one, other := run(t, d, watchdog.Config{}), run(t, d, watchdog.Config{})
	eventually(t, func() bool { return other.Stats().Watchdogs == 2 }, "they know of each other")
	one.end()
	if n := server.CLI(t, "ZCARD", protocol.Watchdogs); n != int64(1) {
		t.Errorf("%v are listed", n)
	}
	other.end()
	if keys := server.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("left behind are %v", keys)
	}
}

// Goal: one that cannot do its work, though it reaches Redis, leaves it to another. Method:
// an ACL forbids it to ask for pulses. Alone it serves nobody; whichever of the two the
// sessions belong to, all of them must live on with the other.
func TestLongAWatchdogThatCannotServeDoesNotCountItselfAlive(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	server.CLI(t, "ACL", "SETUSER", "deaf", "on", ">secret", "~*", "&*", "+@all", "-pubsub")
	deaf := run(t, connectAs(t, server.Addr(), "deaf", "secret"), watchdog.Config{})
	able := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return deaf.Stats().Watchdogs == 2 && able.Stats().Watchdogs == 2 }, "both are there")
	locks := crowd(t, c, 20, lease)
	lasts(t, 2*lease, func() bool { return alive(t, server, locks) == 20 }, "every lock lives")
	eventually(t, func() bool { return able.Stats().Serving == 20 && able.Stats().Watchdogs == 1 }, "one serves all")
	if s := deaf.Stats(); s.Failures == 0 || s.Renewals != 0 {
		t.Errorf("the one that cannot serve says %+v", s)
	}
	server.CLI(t, "ACL", "SETUSER", "deaf", "+@all")
	eventually(t, func() bool { return able.Stats().Watchdogs == 2 }, "it counts again when it can")
}

// Goal: a lock that Redis refuses to renew costs the others of its batch nothing.
func TestLongARefusedRenewalCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	server.CLI(t, "ACL", "SETUSER", "narrow", "on", ">secret", "~redlatch:*", "~open*", "&*", "+@all")
	c.hold("open", lease)
	secret := script.SessionEntry{Field: c.owner(2), Lock: "secret", Count: 1, Lease: lease}
	c.note(secret)
	c.send(script.Mutex{Lock: "secret"}.Acquire(c.owner(2), script.Counts{Writes: 1}, lease, false))
	c.heartbeat()
	w := run(t, connectAs(t, server.Addr(), "narrow", "secret"), watchdog.Config{})
	lasts(t, 2*lease, func() bool { return server.PTTL(t, "open") > 0 }, "the lock that may be renewed lives")
	if server.PTTL(t, "secret") > 0 {
		t.Error("the other one was renewed: this test tests nothing")
	}
	if s := w.Stats(); s.Failures == 0 || s.Watchdogs != 1 {
		t.Errorf("counted were %+v", s)
	}
}

// Goal: what a watchdog costs while nobody is stalled is the same for no locks and for a
// hundred thousand. Method: count the server's commands for a number of looks.
func TestLongTheIdleCostIsFlatInTheNumberOfLocks(t *testing.T) { // alone: it keeps the machine busy
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	w := run(t, d, watchdog.Config{})
	cost := func() float64 {
		const looks = 10
		eventually(t, func() bool { return w.Stats().Looks > 0 }, "it looks")
		calls, first := usage(t, server), w.Stats().Looks
		eventually(t, func() bool { return w.Stats().Looks >= first+looks }, "it looks some times")
		n := float64(w.Stats().Looks - first)
		return (usage(t, server) - calls) / n
	}
	before := cost()
	fill(t, newClient(t, d), 100, 1000)
	if n := server.CLI(t, "DBSIZE"); n.(int64) < 100_100 {
		t.Fatalf("there are only %v keys", n)
	}
	after := cost()
	t.Logf("a look costs %.1f commands without locks, and %.1f with 100,000: %.0f a second", before, after, after*5)
	if after > before+2 {
		t.Errorf("a look costs %.1f commands with 100,000 locks and %.1f without", after, before)
	}
}

// fill makes clients that run, with so many locks each.
func fill(t testing.TB, c *client, clients, locks int) {
	t.Helper()
	for i := range clients {
		id := fmt.Sprintf("client-%d", i)
		var entries []script.SessionEntry
		var calls []script.Call
		for j := range locks {
			e := script.SessionEntry{Field: id + ":1", Lock: fmt.Sprintf("lock-%d-%d", i, j), Count: 1, Lease: time.Minute}
			entries = append(entries, e)
			calls = append(calls, script.Mutex{Lock: e.Lock}.Acquire(e.Field, script.Counts{Writes: 1}, e.Lease, false))
		}
		c.send(calls[:locks/2]...)
		c.send(append(calls[locks/2:], script.SessionNote(id, sessionTTL, entries...), script.SessionHeartbeat(id, time.Minute))...)
	}
}

// usage is how many commands the server has carried out, in scripts or not, without those of this question.
func usage(t testing.TB, server *redistest.Server) (calls float64) {
	t.Helper()
	for line := range strings.Lines(server.CLI(t, "INFO", "commandstats").(string)) {
		name, values, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || name == "cmdstat_info" || name == "cmdstat_ping" {
			continue
		}
		for pair := range strings.SplitSeq(values, ",") {
			key, value, _ := strings.Cut(pair, "=")
			if n, err := strconv.ParseFloat(value, 64); err == nil && key == "calls" {
				calls += n
			}
		}
	}
	return calls
}

// Goal: the user of Redis that the documentation proposes may do all that a watchdog does.
func TestTheUserOfTheDocumentationIsEnough(t *testing.T) {
	t.Parallel()
	text := redistest.Must(os.ReadFile("../docs/acl.md"))
	server := redistest.Start(t)
	for _, line := range regexp.MustCompile(`(?m)^ACL SETUSER watchdog .*$`).FindAllString(string(text), -1) {
		if said := server.CLI(t, strings.Fields(line)...); said != "OK" {
			t.Fatalf("%q: %v", line, said)
		}
	}
	d := connect(t, server.Addr())
	paused, dead := newClient(t, d), newClient(t, d)
	for _, c := range []*client{paused, dead} {
		c.hold("orders:"+c.id, time.Minute)
		c.note(script.SessionEntry{Field: c.owner(2), Lock: "orders:gone", Count: 1, Lease: time.Minute})
		e := script.SessionEntry{Field: c.owner(3), Lock: "orders:read", Read: true, Count: 1, Lease: time.Minute}
		c.note(e)
		c.send(script.NewRW("orders:read", protocol.Plain).Acquire(e.Field, script.Counts{Reads: 1}, e.Lease, false))
	}
	dead.die()
	paused.heartbeat()
	dead.heartbeat()
	w := run(t, connectAs(t, server.Addr(), "watchdog", "password"), watchdog.Config{})
	eventually(t, func() bool { s := w.Stats(); return s.Renewals == 2 && s.Gone == 1 && s.Dead == 1 }, "it has done its work")
	w.end()
	if n := server.CLI(t, "EXISTS", protocol.Watchdogs); n != int64(0) {
		t.Error("it did not take its leave")
	}
	if denied := server.CLI(t, "ACL", "LOG").([]any); len(denied) > 0 {
		t.Errorf("it was not allowed %v", denied)
	}
}
