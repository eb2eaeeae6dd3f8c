package clients_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
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
	"github.com/redlatch/redlatch/tests/internal/stage"
	"github.com/redlatch/redlatch/watchdog"
)

// Goal: the users that docs/acl.md proposes may do everything that redlatch does, and the
// servers refuse them nothing. Method: the lines are read from that page, every kind of lock
// is used with them, and the servers' own lists of refusals have to be empty.

// aclLines are the lines for one user in docs/acl.md.
func aclLines(t *testing.T, user string) (lines [][]string) {
	t.Helper()
	text := check.Must(os.ReadFile("../../docs/acl.md"))
	for _, line := range regexp.MustCompile(`(?m)^ACL SETUSER `+user+` .*$`).FindAllString(string(text), -1) {
		lines = append(lines, strings.Fields(line))
	}
	if len(lines) == 0 {
		t.Fatal("docs/acl.md has no user", user)
	}
	return lines
}

// introduceUsers makes the users of the page known to servers, and waits for the end of the
// test to see whether they were refused anything.
func introduceUsers(t *testing.T, servers []*redistest.Server, users ...string) {
	t.Helper()
	for _, s := range servers {
		for _, user := range users {
			for _, line := range aclLines(t, user) {
				if said := s.CLI(t, line...); said != "OK" {
					t.Fatalf("%q: %v", line, said)
				}
			}
		}
		t.Cleanup(func() {
			refused, _ := s.CLI(t, "ACL", "LOG").([]any)
			for _, one := range refused {
				if text := fmt.Sprint(one); !strings.Contains(text, "setinfo") { // see the page
					t.Errorf("%s refused %s", s.Addr(), text)
				}
			}
		})
	}
}

// asUser puts a user of the page into a URL.
func asUser(url, user string) string { return strings.Replace(url, "://", "://"+user+":password@", 1) }

// useEverything does with locks whatever can be done, by two clients that wait for each other.
func useEverything(t *testing.T, url string) {
	cfg := redlatch.Config{LeaseTime: 3 * time.Second, Protect: true, PollCap: time.Minute, CommandTimeout: 10 * time.Second}
	a, b := fixture.Open(t, url, cfg), fixture.Open(t, url, cfg)
	for _, name := range []string{"orders:1", "orders:{2}"} {
		for kind, of := range map[string]func(c *redlatch.Client) redlatch.Lock{
			"mutex":  func(c *redlatch.Client) redlatch.Lock { return c.Mutex(name + "m") },
			"cohort": func(c *redlatch.Client) redlatch.Lock { return stage.InCohort{Of: c.Mutex(name + "c")} },
			"fair":   func(c *redlatch.Client) redlatch.Lock { return c.FairMutex(name + "f") },
			"write":  func(c *redlatch.Client) redlatch.Lock { return c.RWMutex(name + "w") },
			"multi": func(c *redlatch.Client) redlatch.Lock {
				return check.Must(redlatch.NewMulti(c.Mutex(name+"a"), c.Mutex(name+"b")))
			},
		} {
			var opts []redlatch.LockOption
			if kind != "multi" {
				opts = append(opts, redlatch.WithFencing())
			}
			owner := a.WithOwner(t.Context())
			if kind == "cohort" {
				owner = t.Context() // a cohort has no owners
			}
			outer := check.Must(of(a).Lock(owner, opts...))
			inner := outer
			if kind != "cohort" {
				inner = check.Must(of(a).Lock(owner))
			}
			_, err := of(b).TryLock(t.Context())
			check.Is(t, kind, err, redlatch.ErrNotAcquired)
			ctx, giveUp := context.WithCancel(t.Context())
			var waiting sync.WaitGroup
			waiting.Go(func() { _, _ = of(b).Lock(ctx) })
			entered := make(chan *redlatch.Hold, 1)
			waiting.Go(func() { entered <- check.Must(of(b).Lock(t.Context(), opts...)) })
			redistest.Eventually(t, 10*time.Second, func() bool { return b.Stats().Waiters >= 2 && b.Stats().Subscriptions > 0 }, kind+": others wait")
			giveUp()
			redistest.Eventually(t, 10*time.Second, func() bool { return b.Stats().Waiters < 2 }, kind+": one gives up")
			check.Is(t, kind, inner.Unlock(t.Context()), nil)
			if err := outer.Unlock(t.Context()); err != nil {
				t.Error(kind, err)
			}
			select {
			case h := <-entered:
				if kind != "multi" && kind != "cohort" {
					h = check.Must(a.Attach(t.Context(), check.Must(h.Ticket())))
				}
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(kind, err)
				}
			case <-time.After(20 * time.Second):
				t.Errorf("%s: the other was not told", kind)
				return
			}
			waiting.Wait()
		}
		useTheRest(t, a, b, name)
		fixture.UseCounters(t, a, b, name)
	}
}

// useTheRest reads beside a writer, forces, asks and confirms.
func useTheRest(t *testing.T, a, b *redlatch.Client, name string) {
	t.Helper()
	ctx := t.Context()
	rw := a.RWMutex(name + "w")
	owner := a.WithOwner(ctx)
	write := check.Must(rw.Lock(owner))
	read := check.Must(rw.RLock(owner))
	_ = write.Unlock(ctx) // a downgrade
	other := check.Must(b.RWMutex(name + "w").RLock(ctx))
	other = check.Must(a.Attach(ctx, check.Must(other.Ticket())))
	again := check.Must(rw.RLock(owner))
	for _, h := range []*redlatch.Hold{again, read, other} {
		if err := h.Unlock(ctx); err != nil {
			t.Error("read:", err)
		}
	}
	_, err := a.Mutex(name+"m").Lock(ctx, redlatch.WithReplicas(9, 10*time.Millisecond), redlatch.WithLease(time.Second))
	check.Is(t, "replicas", err, redlatch.ErrNotReplicated)
	for kind, l := range map[string]interface {
		redlatch.Lock
		ForceUnlock(context.Context) (bool, error)
		Status(context.Context) (redlatch.Status, error)
	}{"mutex": a.Mutex(name + "m"), "fair": a.FairMutex(name + "f"), "rw": rw} {
		_ = check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute), redlatch.WithFencing()))
		if s := check.Must(l.Status(ctx)); !s.Locked || s.Token == 0 {
			t.Errorf("%s: its status is %+v", kind, s)
		}
		if !check.Must(l.ForceUnlock(ctx)) {
			t.Errorf("%s was not forced", kind)
		}
	}
}

// useQuorum asks one server for all that a quorum asks.
func useQuorum(t *testing.T, url string) {
	t.Helper()
	c := fixture.Open(t, url, redlatch.Config{LeaseTime: time.Second})
	h := check.Must(check.Must(redlatch.NewQuorum(c.Mutex("orders:member"))).Lock(t.Context(), redlatch.WithWait(30*time.Second)))
	if err := h.Unlock(t.Context()); err != nil {
		t.Error("quorum:", err)
	}
}

// useNotes says what holds are for and asks for them, if the user may. The holds are renewed all the same.
func useNotes(t *testing.T, url string, may bool) {
	t.Helper()
	c, ctx := fixture.Open(t, url, redlatch.Config{LeaseTime: 3 * time.Second}), t.Context()
	type source interface {
		Recall(ctx context.Context, owner, reason string) (bool, error)
	}
	type lock interface {
		source
		redlatch.Lock
		Status(ctx context.Context) (redlatch.Status, error)
	}
	type held struct {
		*redlatch.Hold
		from  source
		until time.Time
	}
	var all []held
	add := func(h *redlatch.Hold, from source) {
		all = append(all, held{h, from, h.Deadline()})
		if asked, err := from.Recall(ctx, h.Owner(), "y"); asked != may || may != (err == nil) {
			t.Errorf("asking for %s: %v, %v", h.Name(), asked, err)
		}
	}
	for _, name := range []string{"orders:3", "orders:{4}"} {
		for _, l := range []lock{c.Mutex(name + "m"), c.FairMutex(name + "f"), c.RWMutex(name + "w")} {
			add(check.Must(l.Lock(ctx, redlatch.WithNote("x"))), l)
		}
		permits := fixture.PermitsOf(t, c, name+"p", 1)
		add(check.Must(permits.Acquire(ctx, redlatch.WithNote("x"))), permits)
	}
	for _, h := range all {
		redistest.Eventually(t, 10*time.Second, func() bool { return h.Deadline().After(h.until) }, h.Name()+" is renewed")
		if asked := h.RecallErr() != nil; asked != may {
			t.Errorf("%s was asked for: %v", h.Name(), h.RecallErr())
		}
		if l, is := h.from.(lock); is {
			status, err := l.Status(ctx)
			if one := status.Holders; err != nil || len(one) != 1 || (one[0].Note == "x") != may || one[0].Told != may {
				t.Errorf("%s: %+v, %v", h.Name(), one, err)
			}
		}
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
	}
}

// keepThroughAPause has the watchdog serve a client of the page's user that stands still.
func keepThroughAPause(t *testing.T, url, watchdogURL string) {
	t.Helper()
	d := fixture.Open(t, watchdogURL, redlatch.Config{CommandTimeout: 10 * time.Second}).Driver()
	w := check.Must(watchdog.New(d, watchdog.Config{Logger: slog.New(slog.DiscardHandler)}))
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	t.Cleanup(func() { end(); running.Wait() })
	c := fixture.Open(t, url, redlatch.Config{Protect: true, LeaseTime: 4 * time.Second})
	h := check.Must(c.RWMutex("orders:kept").RLock(t.Context()))
	_ = check.Must(c.Mutex("orders:kept-too").Lock(t.Context()))
	redistest.Eventually(t, 20*time.Second, func() bool { return c.Stats().Watchdogs == 1 }, "the client hears of the watchdog")
	// Its heartbeat is made overdue, as it would be in a pause; it is sent again by itself.
	const overdue = "local t = redis.call('TIME') return redis.call('ZADD', KEYS[1], (t[1] - 1) * 1000, ARGV[1])"
	late := driver.Command{Words: []string{"EVAL", overdue, "1", protocol.Sessions, c.ID()}, Key: protocol.Sessions}
	redistest.Eventually(t, 20*time.Second, func() bool {
		if reply := c.Driver().Do(t.Context(), late); reply.Err != nil {
			t.Fatal(reply.Err)
		}
		return w.Stats().Renewals >= 2
	}, "the watchdog renews")
	if !h.Valid() {
		t.Error("the hold is over")
	}
	if s := w.Stats(); s.Failures > 0 || s.Skipped > 0 {
		t.Errorf("the watchdog counted %+v", s)
	}
}

func TestTheUsersOfTheDocumentationAreEnoughOnOneServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	introduceUsers(t, []*redistest.Server{server}, "orders", "watchdog")
	url := asUser(server.URL(), "orders")
	useEverything(t, url)
	useNotes(t, url, true)
	useQuorum(t, url)
	keepThroughAPause(t, url, asUser(server.URL(), "watchdog"))
}

// Goal: users with the rights that this page gave before there were notes hold locks as before.
func TestUsersWithoutTheRightToNotesHoldLocksAsBefore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	earlier := strings.NewReplacer("~redlatch:*:{orders:*", "~redlatch:fair:{orders:* ~redlatch:request:{orders:*",
		"~redlatch:*:orders:*", "~redlatch:fair:orders:* ~redlatch:request:orders:*", " ~redlatch:note:*", "")
	for _, user := range []string{"orders", "watchdog"} {
		for _, line := range aclLines(t, user) {
			if said := server.CLI(t, strings.Fields(earlier.Replace(strings.Join(line, " ")))...); said != "OK" {
				t.Fatalf("%q: %v", line, said)
			}
		}
	}
	url := asUser(server.URL(), "orders")
	useEverything(t, url)
	useNotes(t, url, false)
	keepThroughAPause(t, url, asUser(server.URL(), "watchdog"))
}

// Not every line of every script is met above.
func TestTheUsersOfTheDocumentationHaveEveryCommandOfTheScripts(t *testing.T) {
	t.Parallel()
	allowed := make(map[string]bool)
	for _, user := range []string{"orders", "watchdog"} {
		for _, line := range aclLines(t, user) {
			for _, word := range line {
				command, _, _ := strings.Cut(strings.TrimPrefix(word, "+"), "|")
				allowed[command] = strings.HasPrefix(word, "+")
			}
		}
	}
	scripts, err := filepath.Glob("../../internal/script/*.[li][un][ac]")
	if err != nil || len(scripts) < 10 {
		t.Fatal(scripts, err)
	}
	for _, name := range scripts {
		text := check.Must(os.ReadFile(name))
		for _, call := range regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`).FindAllStringSubmatch(string(text), -1) {
			if !allowed[strings.ToLower(call[1])] {
				t.Errorf("docs/acl.md lacks %s, which %s sends", call[1], name)
			}
		}
	}
}

func TestTheUsersOfTheDocumentationReachNothingElse(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	introduceUsers(t, []*redistest.Server{server}, "orders", "watchdog")
	for user, commands := range map[string][]string{
		"orders":   {"GET billing", "EVAL x 1 billing:1", "KEYS *", "CONFIG GET dir", "FLUSHALL", "HGETALL orders", "SCRIPT FLUSH", "HGET redlatch:note:{billing:1}:a note"},
		"watchdog": {"HSET orders:1 x 1", "DEL orders:1", "SET orders:1 x", "PUBLISH redisson_lock__channel:{orders:1} 0", "EVAL x 1 billing:1", "KEYS *"},
	} {
		d := fixture.Open(t, asUser(server.URL(), user), redlatch.Config{}).Driver()
		for _, command := range commands {
			err := d.Do(t.Context(), driver.Command{Words: strings.Fields(command)}).Err
			if err == nil || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("%s may %s: %v", user, command, err)
			}
		}
	}
	server.CLI(t, "ACL", "LOG", "RESET")
}

func TestLongTheUsersOfTheDocumentationAreEnoughInACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	introduceUsers(t, cluster.Servers, "orders", "watchdog")
	url := asUser(fixture.ClusterURL(cluster), "orders")
	useEverything(t, url)
	useNotes(t, url, true)
	from := cluster.Master(t, "orders:moves")
	to := cluster.Servers[0]
	if from == to {
		to = cluster.Servers[1]
	}
	mover := fixture.Open(t, url, redlatch.Config{})
	cluster.MoveSlot(t, "orders:moves", to, func() { // the key is on neither: it is asked for at the new one
		check.Must(mover.Mutex("orders:moves").TryLock(t.Context(), redlatch.WithLease(50*time.Millisecond)))
	})
	keepThroughAPause(t, url, asUser(fixture.ClusterURL(cluster), "watchdog"))
}

func TestTheUsersOfTheDocumentationAreEnoughBehindSentinel(t *testing.T) {
	t.Parallel()
	sentinels := redistest.StartSentinels(t).Settle(t)
	var servers []*redistest.Server
	for _, m := range sentinels.Members {
		servers = append(servers, m.Server)
	}
	introduceUsers(t, servers, "orders", "watchdog")
	introduceUsers(t, sentinels.Sentinels, "finder")
	base := "redis+sentinel://" + strings.Join(sentinels.Addrs(), ",") + "/" + sentinels.Name + "?sentinel_username=finder&sentinel_password=password"
	c := fixture.Open(t, asUser(base, "orders"), redlatch.Config{})
	_ = check.Must(c.Mutex("orders:1").Lock(t.Context())).Unlock(t.Context())
	keepThroughAPause(t, asUser(base, "orders"), asUser(base, "watchdog"))
}

// Goal: who may not write what keeps a reader alive is told so, and gets nothing that a writer would not see.
func TestAReaderThatMayNotBeProtectedIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "reader", "on", ">password", "~*", "&*", "+@all", "-set")
	c, all := fixture.Open(t, asUser(server.URL(), "reader"), redlatch.Config{}), fixture.Open(t, server.URL(), redlatch.Config{})
	if h, err := c.RWMutex("prices").RLock(t.Context(), redlatch.WithWait(time.Second)); err == nil {
		t.Error("a hold that Redis does not protect:", h)
	}
	h := check.Must(all.RWMutex("prices").RLock(t.Context()))
	ticket := check.Must(h.Ticket())
	if h, err := c.Attach(t.Context(), ticket); err == nil {
		t.Error("a hold that Redis does not protect:", h)
	}
	_ = check.Must(all.Attach(t.Context(), ticket)).Unlock(t.Context())
}
