package watchdog_test

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"
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

// What a neighbour, an ACL and a slow network do to a watchdog, and what it says of that.

// Goal: a watchdog whose user may not run what its scripts run does not count itself alive, and
// says that it is forbidden. Method: one command at a time is taken from its user.
func TestAWatchdogWhoseScriptsAreForbiddenDoesNotCountItselfAlive(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"hscan", "hget", "pexpire"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			d := connect(t, server.Addr())
			log := new(plain)
			runWith(t, narrow(t, server, "-"+command), watchdog.Config{}, slog.New(log))
			c := newClient(t, d)
			c.hold("job", lease)
			c.heartbeat()
			eventually(t, func() bool { return strings.Contains(log.String(), "Redis forbids") }, "it says that it is forbidden")
			eventually(t, func() bool { return server.CLI(t, "EXISTS", protocol.Watchdogs) == int64(0) }, "it does not count itself alive")
		})
	}
}

// Goal: a server that refuses is not one that is silent.
func TestALookThatIsRefusedIsNotOneWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	log := new(plain)
	runWith(t, narrow(t, server, "-zcount"), watchdog.Config{}, slog.New(log))
	eventually(t, func() bool { return strings.Contains(log.String(), "nobody's holds are renewed") }, "it says that it cannot look")
	if strings.Contains(log.String(), "does not answer") {
		t.Errorf("Redis has answered, and the log says\n%s", log)
	}
}

// narrow connects as a user who may do all but what is taken from it.
func narrow(t *testing.T, server *redistest.Server, taken ...string) driver.Driver {
	t.Helper()
	server.CLI(t, append([]string{"ACL", "SETUSER", "narrow", "on", ">secret", "~*", "&*", "+@all"}, taken...)...)
	return connectAs(t, server.Addr(), "narrow", "secret")
}

// Goal: a client whose entries fail is visited no more often than any other.
func TestAVisitThatFailsIsNotRepeatedMoreOften(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	c.hold("job", time.Minute)
	c.heartbeat()
	run(t, narrow(t, server, "-hscan"), watchdog.Config{Look: 10 * time.Millisecond})
	server.CLI(t, "CONFIG", "RESETSTAT")
	began := time.Now()
	lasts(t, 2*time.Second, func() bool { return true }, "")
	refused := 0
	for line := range strings.Lines(server.CLI(t, "INFO", "commandstats").(string)) {
		if strings.HasPrefix(line, "cmdstat_hscan:") {
			_, after, _ := strings.Cut(line, "rejected_calls=")
			fmt.Sscan(strings.ReplaceAll(after, ",", " "), &refused)
		}
	}
	if most := int(time.Since(began).Seconds()*4) + 2; refused > most {
		t.Errorf("it was visited %d times in %v", refused, time.Since(began))
	}
}

// Goal: names that somebody invents cost no healthy client its protection, however many there are.
// Method: far more than one look sees, of a length that no client has or of a usual one.
func TestManyInventedNamesHideNobody(t *testing.T) {
	t.Parallel()
	const fill = `for i = 1, 20000 do redis.call('ZADD', KEYS[1], i, ARGV[1] .. i) end`
	for what, name := range map[string]string{"too long": strings.Repeat("n", protocol.MaxClientLen), "of nobody": "n"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			d := connect(t, server.Addr())
			for part := range 20 {
				server.CLI(t, "EVAL", fill, "1", protocol.Sessions, fmt.Sprint(name, part, ":"))
			}
			w := run(t, d, watchdog.Config{})
			eventually(t, func() bool { return w.Stats().Looks > 1 }, "it looks")
			if s := w.Stats(); s.Stalled < 10*maxPage {
				t.Errorf("counted were %+v: this test tests nothing", s)
			}
			c := newClient(t, d)
			c.hold("job", 2*lease)
			c.heartbeat()
			lasts(t, 3*lease, func() bool { return server.PTTL(t, "job") > 0 }, "the healthy client's lock lives")
		})
	}
}

// maxPage is how many names one page of a look has.
const maxPage = 2000

// Goal: invented names are gone as fast as looks read them. Method: they are counted in looks, since a
// busy machine takes fewer. It also sees late that all are gone.
func TestInventedNamesAreRemovedAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const fill = `for i = 1, 100000 do redis.call('ZADD', KEYS[1], i, i) end`
	server.CLI(t, "EVAL", fill, "1", protocol.Sessions)
	w := run(t, connect(t, server.Addr()), watchdog.Config{})
	eventually(t, func() bool { s := w.Stats(); return s.Looks > 0 && s.Stalled == 0 }, "all are gone")
	if s := w.Stats(); s.Looks > 4*100000/maxPage || s.Dead+s.LetGo != 100000 {
		t.Errorf("counted were %+v", s)
	}
}

// Goal: clients that hold nothing cost little, however many there are, and delay nobody who does.
// Method: the server counts the commands of a watchdog; a client is paused behind 10,000 of them.
func TestLongManyIdleClientsCostLittleAndDelayNobody(t *testing.T) { // alone: it keeps the machine busy
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	const many = 10_000
	var words, channels []string
	for i := range many {
		id := fmt.Sprint("idle", i)
		server.CLI(t, "HSET", protocol.SessionKey(id), "pulse", neighbourPulse)
		channels = append(channels, protocol.PulseChannel(id, neighbourPulse))
		words = append(words, strconv.FormatInt(time.Now().Add(-time.Second).UnixMilli(), 10), id)
	}
	c.subscribe(channels...)
	server.CLI(t, append([]string{"ZADD", protocol.Sessions}, words...)...)
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool {
		return server.CLI(t, "EXISTS", protocol.SessionKey("idle1")) == int64(1) && w.Stats().Looks > 3
	}, "it looks")
	c.hold("job", 2*lease)
	c.heartbeat()
	lasts(t, 3*lease, func() bool { return server.PTTL(t, "job") > 0 }, "the paused client's lock lives")
	looks := w.Stats().Looks
	eventually(t, func() bool { return w.Stats().Looks > looks+60 }, "all were visited once") // 10,000 at 250 a look
	server.CLI(t, "CONFIG", "RESETSTAT")
	looks = w.Stats().Looks
	eventually(t, func() bool { return w.Stats().Looks >= looks+20 }, "it looks on")
	calls, looks := scripts(t, server), w.Stats().Looks-looks
	if each := calls / int(looks); each > 400 {
		t.Errorf("%d scripts a look", each)
	}
}

// scripts counts the scripts that a server has run.
func scripts(t *testing.T, server *redistest.Server) (n int) {
	t.Helper()
	for line := range strings.Lines(server.CLI(t, "INFO", "commandstats").(string)) {
		if _, calls, ok := strings.Cut(line, "cmdstat_evalsha:calls="); ok {
			fmt.Sscan(strings.ReplaceAll(calls, ",", " "), &n)
		}
	}
	return n
}

// Goal: a client with a long lease costs few visits. Method: a lease of 40 s is renewed once in 3 s.
func TestALongLeaseIsRenewedEveryQuarterOfIt(t *testing.T) {
	t.Parallel()
	d := connect(t, redistest.Start(t).Addr())
	c := newClient(t, d)
	c.hold("job", 40*time.Second)
	c.heartbeat()
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Renewals > 0 }, "it is renewed")
	lasts(t, 3*time.Second, func() bool { return w.Stats().Renewals == 1 }, "it is renewed once")
}

// Goal: a watchdog that is late says so. Method: its replies take longer than the lease allows.
func TestAWatchdogThatIsLateSaysSo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	c := newClient(t, connect(t, server.Addr()))
	c.hold("job", 30*time.Second)
	c.note(script.SessionEntry{Field: c.owner(1), Lock: "job", Count: 1, Lease: time.Second})
	w := run(t, connect(t, proxy.Addr()), watchdog.Config{CommandTimeout: 10 * time.Second})
	eventually(t, func() bool { return w.Stats().Looks > 0 }, "it looks")
	c.heartbeat()
	proxy.Delay(200 * time.Millisecond)
	eventually(t, func() bool { return w.Stats().LateVisits > 0 }, "it says that it is late")
}

// Goal: a visit that is cut off by the end of the watchdog is no failure.
func TestTheEndOfAWatchdogIsNoFailure(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	d := connect(t, server.Addr())
	c := newClient(t, d)
	c.hold("job", lease)
	log := new(plain)
	w := runWith(t, connect(t, proxy.Addr()), watchdog.Config{}, slog.New(log))
	eventually(t, func() bool { return w.Stats().Looks > 0 }, "it looks")
	proxy.DropReplies(1000, redistest.Containing(protocol.SessionKey(c.id)))
	c.heartbeat()
	eventually(t, func() bool { return w.Stats().Stalled == 1 }, "the client is found")
	w.end()
	if strings.Contains(log.String(), "cannot be served") {
		t.Errorf("the log has\n%s", log)
	}
}

// Goal: sessions full of entries that are skipped are large sessions, and cost nobody else.
func TestLongManySessionsOfSkippedEntriesCostNobodyElse(t *testing.T) { // alone: it keeps the machine busy
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	healthy := newClient(t, d)
	const fill = `for i = 1, 12000 do redis.call('HSET', KEYS[1], 'a ' .. i, '') end`
	for i := range 130 {
		id := fmt.Sprint("nb", i)
		healthy.subscribe(protocol.PulseChannel(id, neighbourPulse))
		server.CLI(t, "HSET", protocol.SessionKey(id), "pulse", neighbourPulse)
		server.CLI(t, "EVAL", fill, "1", protocol.SessionKey(id))
		(&neighbour{t, server, id}).overdue(time.Second)
	}
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Looks > 1 }, "it looks")
	healthy.hold("healthy", 2*lease)
	healthy.heartbeat()
	lasts(t, 3*lease, func() bool { return server.PTTL(t, "healthy") > 0 }, "the healthy client's lock lives")
}

// Goal: a session does not keep a visit busy: what is beyond 100,000 keys is left for the next one, and counted.
func TestAVisitRenewsABoundedNumberOfKeys(t *testing.T) {
	t.Parallel()
	d := connect(t, redistest.Start(t).Addr())
	c := newClient(t, d)
	var entries []script.SessionEntry
	for i := range 500 { // each of 255 read holds that do not exist
		entries = append(entries, script.SessionEntry{Field: c.owner(1), Lock: fmt.Sprint("job", i), Read: true, Count: 255, Lease: lease})
	}
	c.note(entries...)
	c.heartbeat()
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Skipped > 0 }, "entries are left for the next visit")
	eventually(t, func() bool { return len(c.noted()) == 0 }, "all entries are visited in the end")
}

// users makes the users of docs/acl.md known to a server: those for one, under another name and
// for locks of another prefix.
func users(t *testing.T, server *redistest.Server, user, as string) {
	t.Helper()
	text := redistest.Must(os.ReadFile("../docs/acl.md"))
	for _, line := range regexp.MustCompile(`(?m)^ACL SETUSER `+user+` .*$`).FindAllString(string(text), -1) {
		if user != as {
			line = strings.ReplaceAll(line, user, as)
		}
		if said := server.CLI(t, strings.Fields(line)...); said != "OK" {
			t.Fatalf("%q: %v", line, said)
		}
	}
}

// Goal: with the rights of docs/acl.md one application can make the watchdog prolong the lock of
// another, by an hour at most, and nothing else. Method: it writes the session of a dead client,
// and has the pulse that it names.
func TestLongANeighbourProlongsLocksOfOthersAtMost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	users(t, server, "orders", "books")
	users(t, server, "watchdog", "watchdog")
	d := connect(t, server.Addr())
	dead := newClient(t, d)
	dead.hold("orders:job", 20*time.Second)
	dead.die()
	server.CLI(t, "HSET", "orders:data", "name", "value")
	books := connectAs(t, server.Addr(), "books", "password")
	do := func(words ...string) {
		t.Helper()
		if reply := books.Do(t.Context(), driver.Command{Words: words, Key: words[1]}); reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
	pulse, err := books.Listen(t.Context(), driver.Events{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pulse.Close)
	if err := pulse.Subscribe(t.Context(), protocol.PulseChannel(dead.id, "x")); err != nil {
		t.Fatal(err)
	}
	do("HSET", protocol.SessionKey(dead.id), "pulse", "x", dead.owner(1)+" orders:job", "exclusive 1 7200000 0",
		dead.owner(2)+" orders:free", "exclusive 1 7200000 0", dead.owner(1)+" orders:data", "exclusive 1 7200000 0",
		"name orders:data", "exclusive 1 7200000 0")
	do("ZADD", protocol.Sessions, strconv.FormatInt(time.Now().Add(-time.Second).UnixMilli(), 10), dead.id)
	w := run(t, connectAs(t, server.Addr(), "watchdog", "password"), watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Renewals > 0 }, "it renews")
	if ttl := server.PTTL(t, "orders:job"); ttl > time.Hour || ttl < 59*time.Minute {
		t.Errorf("the lock has a TTL of %v", ttl)
	}
	if owner := server.CLI(t, "HGET", "orders:job", dead.owner(1)); owner != "1" {
		t.Errorf("the lock has the count %v", owner)
	}
	if ttl := server.PTTL(t, "orders:data"); ttl >= 0 || server.CLI(t, "EXISTS", "orders:free") != int64(0) {
		t.Errorf("data has a TTL of %v, or a free lock was made", ttl)
	}
}

// Goal: a server that takes nothing new, and a list of watchdogs that is no list, cost a paused
// client nothing: to renew needs neither.
func TestAWatchdogThatCannotSayThatItIsAliveRenews(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string][]string{
		"a full server":          {"CONFIG", "SET", "maxmemory", "1"},
		"a list of another type": {"SET", protocol.Watchdogs, "no list"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			d := connect(t, server.Addr())
			c := newClient(t, d)
			c.hold("job", lease)
			c.heartbeat()
			server.CLI(t, spoil...)
			run(t, d, watchdog.Config{})
			lasts(t, 2*lease, func() bool { return server.PTTL(t, "job") > 0 }, "the paused client's lock lives")
		})
	}
}
