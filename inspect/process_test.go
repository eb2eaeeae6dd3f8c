package inspect_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// urls are a server and a cluster, both real: an embedded server lists no connections.
func urls(t *testing.T) map[string]string {
	return map[string]string{
		"redis":   redistest.Shared(t).URL(),
		"cluster": "redis+cluster://" + strings.Join(redistest.SharedCluster(t).Addrs(), ","),
	}
}

// Goal: the process behind an owner is named, for as long as it has a connection, and a holder whose
// process has gone is found. An owner that nobody knows is no finding: it may be a Java process.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for kind, url := range urls(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			holder := open(t, url, redlatch.Config{Name: "billing@web-3"})
			hold, err := holder.Mutex(name).Lock(t.Context())
			must(t, hold, err)
			c := open(t, url, redlatch.Config{})
			i := inspector(t, c.Driver(), fast)
			do(t, c.Driver(), "HSET", name+"-java", java(1, 1), "1")
			do(t, c.Driver(), "PEXPIRE", name+"-java", "3600000")

			l, err := i.Lock(t.Context(), name)
			p := l.Holders[0].Process
			if err != nil || codes(l) != "" || p == nil || p.Name != "billing@web-3" || p.Client != holder.ID() || !strings.HasPrefix(p.Addr, "127.0.0.1:") {
				t.Fatalf("%+v, %+v, %v", l, p, err)
			}
			hold.Detach()
			_ = holder.Close(context.Background())
			eventually(t, func() bool {
				l, err := i.Lock(t.Context(), name)
				return err == nil && codes(l) == inspect.CodeNoConnection && l.Holders[0].Process == nil
			}, "the process is gone")
			if l, err := i.Lock(t.Context(), name+"-java"); err != nil || codes(l) != "" {
				t.Errorf("%+v, %v", l, err)
			}
		})
	}
}

// Goal: what the watchdogs know of a holder is told: alive, paused, which watchdog renews it, dead.
// Method: a session as a protected client writes it, on each kind of server.
func TestProtection(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		d := c.Driver()
		i := inspector(t, d, fast)
		client := c.ID()[:8] + "-1111-4000-8000-000000000000"
		owner := protocol.Owner(client, 1)
		do(t, d, "HSET", p+"x", owner, "1")
		do(t, d, "PEXPIRE", p+"x", "3600000")
		protection := func() *inspect.Protection {
			l, err := i.Lock(t.Context(), p+"x")
			must(t, l, err)
			return l.Holders[0].Protection
		}
		if got := protection(); got != nil {
			t.Errorf("without a session: %+v", got)
		}
		runner := script.NewRunner(d, time.Minute)
		run := func(call script.Call) { _, err := runner.Run(t.Context(), call); must(t, call, err) }
		run(script.SessionTouch(client, time.Hour, "beat"))
		run(script.SessionNote(client, time.Hour, script.SessionEntry{Field: owner, Lock: p + "x", Count: 1, Lease: 40 * time.Second}))
		run(script.SessionHeartbeat(client, time.Hour))
		if got := protection(); got == nil || !got.Alive || got.Dead || !got.PausedSince.IsZero() {
			t.Errorf("alive: %+v", got)
		}
		listener, err := d.Listen(t.Context(), driver.Events{})
		must(t, listener, err)
		defer listener.Close()
		if err := listener.Subscribe(t.Context(), protocol.PulseChannel(client, "beat")); err != nil {
			t.Fatal(err)
		}
		run(script.WatchdogHeartbeat("dog", 10*time.Second))
		run(script.SessionHeartbeat(client, time.Millisecond))
		eventually(t, func() bool {
			got := protection()
			run(script.WatchdogHeartbeat("dog", 10*time.Second)) // it may be one of several tests' on this server
			return got != nil && !got.Alive && !got.Dead && got.Watchdog != "" && time.Since(got.PausedSince) > 9*time.Second && time.Since(got.PausedSince) < time.Minute
		}, "it is paused")
		if err := listener.Unsubscribe(t.Context(), protocol.PulseChannel(client, "beat")); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { got := protection(); return got != nil && got.Dead && got.Watchdog == "" }, "it is dead")
		if l, _ := i.Lock(t.Context(), p+"x"); !embedded(c) && codes(l) != inspect.CodeNoConnection {
			t.Errorf("findings: %+v", l.Findings)
		}
		run(script.SessionEnd(client))
	})
}

// Goal: a holder whose heartbeat is in time has a connection, whatever CLIENT LIST says: a client on a driver
// that does not name its connections is not in it, and neither is one that has connected since.
func TestAHolderWithAHeartbeatHasAConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connectTo(t, server)
	i := inspector(t, d, fast)
	const client = "00000000-1111-4000-8000-000000000000" // without a connection that has its name
	owner := protocol.Owner(client, 1)
	do(t, d, "HSET", "x", owner, "1")
	do(t, d, "PEXPIRE", "x", "3600000")
	runner := script.NewRunner(d, time.Minute)
	for _, call := range []script.Call{
		script.SessionTouch(client, time.Hour, "beat"),
		script.SessionNote(client, time.Hour, script.SessionEntry{Field: owner, Lock: "x", Count: 1, Lease: 40 * time.Second}),
		script.SessionHeartbeat(client, time.Hour),
	} {
		_, err := runner.Run(t.Context(), call)
		must(t, call, err)
	}
	if l, err := i.Lock(t.Context(), "x"); err != nil || l.Holders[0].Protection == nil || codes(l) != "" {
		t.Errorf("%+v, %v", l, err)
	}
}

// Goal: a lock in JSON has every field of status --json, under the same name and with the same value.
func TestJSONHasTheFieldsOfStatus(t *testing.T) {
	t.Parallel()
	l := inspect.Lock{
		Name: "a", Kind: inspect.KindFair, Mode: redlatch.ModeExclusive, Owners: 1, TTL: 1500 * time.Millisecond, Queued: 1, Token: 7,
		Holders: []inspect.Holder{{
			Owner: "o:1", Count: 2, TTL: -1, Holds: []time.Duration{time.Second}, Process: &inspect.Process{Name: "n", Addr: "h:1"},
			Protection: &inspect.Protection{PausedSince: time.UnixMilli(1000), Watchdog: "w"},
			Noted:      inspect.Noted{Note: "x", Recall: &redlatch.RecalledError{Lock: "a", Author: "y", Reason: "z"}, Told: true},
		}},
		Queue: []inspect.Waiter{{Owner: "o:2", Deadline: time.UnixMilli(2000)}}, Findings: []inspect.Finding{{Code: "c", Text: "t"}}, Seen: time.UnixMilli(3000),
	}
	want := `{"lock":"a","kind":"fair","locked":true,"mode":"exclusive","ttl_ms":1500,"token":7,"owners":1,` +
		`"holders":[{"owner":"o:1","count":2,"write":false,"ttl_ms":-1,"holds_ms":[1000],"name":"n","addr":"h:1",` +
		`"protection":{"alive":false,"dead":false,"paused_since":"1970-01-01T00:00:01Z","watchdog":"w"},` +
		`"note":"x","recall":{"author":"y","reason":"z","told":true}}],` +
		`"queued":1,"queue":[{"owner":"o:2","deadline":"1970-01-01T00:00:02Z","name":"","addr":""}],"waiting":0,` +
		`"findings":[{"code":"c","text":"t"}],"seen":"1970-01-01T00:00:03Z"}`
	if got, err := json.Marshal(l); err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant\n%s", got, err, want)
	}
	if got, err := json.Marshal(inspect.Snapshot{}); err != nil || string(got) != `{"at":"0001-01-01T00:00:00Z","walked":false,"locks":[],"events":[]}` {
		t.Errorf("%s, %v", got, err)
	}
	event := inspect.Event{At: time.UnixMilli(1000), Lock: "a", Kind: inspect.EventGranted, Owner: "o:1", Name: "n", TTL: time.Second, Text: "t"}
	want = `{"at":"1970-01-01T00:00:01Z","lock":"a","kind":"granted","owner":"o:1","name":"n","ttl_ms":1000,"text":"t"}`
	if got, err := json.Marshal(event); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// Goal: in a cluster, listeners are counted on all servers, and a process that listens in both ways
// once. Method: two clients and a Java process that listens to the shard.
func TestListenersOfACluster(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	name := redistest.Name(t)
	url := urls(t)["cluster"]
	first, second := open(t, url, redlatch.Config{}), open(t, url, redlatch.Config{})
	hold, err := first.Mutex(name).Lock(t.Context())
	must(t, hold, err)
	i := inspector(t, first.Driver(), fast)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	for _, one := range []*redlatch.Client{first, second} {
		go func() { _, _ = one.Mutex(name).Lock(ctx); ended <- struct{}{} }()
	}
	defer func() { cancel(); <-ended; <-ended }()
	eventually(t, func() bool { l, err := i.Lock(t.Context(), name); return err == nil && l.Waiting == 2 }, "two wait")
	java := connectTo(t, c.Master(t, name))
	l, err := java.Listen(t.Context(), driver.Events{})
	must(t, l, err)
	defer l.Close()
	if err := l.(driver.ShardListener).SubscribeShard(t.Context(), protocol.LockChannel(name)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { l, err := i.Lock(t.Context(), name); return err == nil && l.Waiting == 3 }, "three wait")
	at := slices.Index(c.Servers, c.Master(t, name))
	elsewhere := connectTo(t, c.Servers[(at+1)%3])
	other, err := elsewhere.Listen(t.Context(), driver.Events{})
	must(t, other, err)
	defer other.Close()
	if err := other.Subscribe(t.Context(), protocol.LockChannel(name)); err != nil { // an older Java process may listen anywhere
		t.Fatal(err)
	}
	if l, err := i.Lock(t.Context(), name); err != nil || l.Waiting != 3 {
		t.Errorf("%+v, %v", l, err)
	}
}
