package sentinel_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/driver/sentinel"
	"github.com/redlatch/redlatch/internal/redistest"
)

// try is the reply of a server, empty if it hangs up: the sentinels have a server that they
// reconfigure disconnect its clients.
func try(server *redistest.Member, words ...string) string {
	reply, _ := server.Try(words...)
	text, _ := reply.(string)
	return text
}

// TestLongFailover kills the primary under commands. They continue at the new primary, and so
// do new listeners. The old one comes back and takes itself for a primary until the
// sentinels reconfigure it: nothing is ever sent to it.
//
// On a busy machine the sentinels may lose sight of the new primary for a moment, and then the
// old one may be chosen rightly. Such a run shows nothing, and another one follows.
func TestLongFailover(t *testing.T) {
	t.Parallel()
	for range 4 {
		if failOver(t) {
			return
		}
	}
	t.Error("in four runs of four the sentinels have chosen once more: who is written to said nothing")
}

// failOver is one run. It reports false if the sentinels have chosen once more.
func failOver(t *testing.T) (meant bool) {
	s := redistest.StartSentinels(t)
	d := open(t, sentinel.Options{Sentinels: s.Addrs(), Master: s.Name, Node: rueidis.Options{CommandTimeout: time.Second}})
	calls, first, second := drivercheck.FollowsFailover(t, d, s)
	first.Restart(t)
	strangers, again := 0, false
	redistest.Eventually(t, 40*time.Second, func() bool {
		strangers += strings.Count(try(first, "CLIENT", "LIST"), "name=redlatch")
		again = again || s.Primary(t) != second
		return again || strings.Contains(try(first, "INFO", "replication"), "role:slave")
	}, "the old primary is a replica")
	if again {
		t.Log("the sentinels have chosen once more")
		calls.End()
		return false
	}
	calls.AwaitMore(t, 50)
	if _, readonly := calls.Counts(); readonly > 0 || strangers > 0 {
		t.Errorf("the old primary was written to: %d refusals, seen %d times among its clients", readonly, strangers)
	}
	return true
}

// TestLongPartition cuts the primary off from everybody but the client, whose connection
// lasts. The sentinels name another one, and the client follows although nothing breaks.
func TestLongPartition(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	first := s.Primary(t)
	back := first.Server.Addr() // the client's way past the partition
	d := open(t, sentinel.Options{Sentinels: s.Addrs(), Master: s.Name, Node: rueidis.Options{Dial: dialPast(first.Addr(), back)}})
	calls := startStream(t, d)
	calls.AwaitMore(t, 50)
	first.Front.Blackhole(true)
	second := s.AwaitFailover(t, first)
	redistest.Eventually(t, soon, func() bool {
		there, here := try(second, "CLIENT", "LIST"), try(first, "CLIENT", "LIST")
		return strings.Contains(there, "name=redlatch") && here != "" && !strings.Contains(here, "name=redlatch")
	}, "the client has moved")
	calls.AwaitMore(t, 50)
	first.Front.Blackhole(false)
	redistest.Eventually(t, 40*time.Second, func() bool {
		return strings.Contains(try(first, "INFO", "replication"), "role:slave")
	}, "the old primary is a replica")
	calls.AwaitMore(t, 50)
	if _, readonly := calls.Counts(); readonly > 0 {
		t.Errorf("%d commands were refused by a replica", readonly)
	}
}

// TestLongSentinelsThatAreGoneAreNotMissed while the connection lasts. Without any of them
// there is no new connection, and with one there is.
func TestLongSentinelsThatAreGoneAreNotMissed(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	// The first tells of the others.
	d := open(t, sentinel.Options{Sentinels: s.Addrs()[:1], Master: s.Name, Node: rueidis.Options{CommandTimeout: time.Second}})
	primary := s.Primary(t)
	hangUp := func() { primary.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }

	s.Sentinels[0].Kill()
	hangUp()
	eventuallyWorks(t, d)
	s.Sentinels[1].Kill()
	s.Sentinels[2].Kill()
	id := do(t, d, "CLIENT", "ID").Int
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		if now := do(t, d, "CLIENT", "ID").Int; now != id {
			t.Fatalf("the connection is client %d, it was client %d", now, id)
		}
	}
	hangUp()
	redistest.Eventually(t, soon, func() bool {
		err := d.Do(t.Context(), command("PING")).Err
		return errors.Is(err, driver.ErrNoConnection) && strings.Contains(err.Error(), s.Name) &&
			strings.Contains(err.Error(), s.Addrs()[0])
	}, "an error says that there is no connection, and who was asked")
	s.Sentinels[2].Restart(t)
	eventuallyWorks(t, d)
}

func TestLongFrozenSentinelsDelayNobodyForLong(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	for frozen, limit := range []time.Duration{0, 0, time.Second, 3 * time.Second} {
		if frozen > 0 {
			s.Sentinels[frozen-1].Freeze()
		}
		begin := time.Now()
		d, err := sentinel.Open(t.Context(), sentinel.Options{Sentinels: s.Addrs(), Master: s.Name})
		if took := time.Since(begin); took > limit+slack {
			t.Errorf("%d frozen: Open took %v, want %v at most", frozen, took, limit)
		}
		if (err == nil) != (frozen < 3) {
			t.Errorf("%d frozen: error %v", frozen, err)
		}
		if err == nil {
			do(t, d, "PING")
			d.Close()
		}
	}
	for _, frozen := range s.Sentinels {
		frozen.Thaw()
	}
}

func TestOpenSaysWhoKnowsNothing(t *testing.T) {
	t.Parallel()
	server, watcher := redistest.Shared(t), redistest.StartSentinel(t)
	watcher.Watch(t, "locks", server.Addr(), 1)
	const secret = "correct-horse"
	for _, c := range []struct {
		name    string
		options sentinel.Options
		want    string
	}{
		{"wrong name", sentinel.Options{Sentinels: []string{watcher.Addr(), "127.0.0.1:1"}, Master: "keys"}, "it knows no master of that name"},
		{"nobody there", sentinel.Options{Sentinels: []string{"127.0.0.1:1"}, Master: "locks"}, "connection refused"},
		{"not a sentinel", sentinel.Options{Sentinels: []string{server.Addr()}, Master: "locks"}, "unknown command"},
		{"needless password", sentinel.Options{Sentinels: []string{watcher.Addr()}, Master: "locks", SentinelPassword: secret}, "AUTH"},
		{"needless password of the node", sentinel.Options{Sentinels: []string{watcher.Addr()}, Master: "locks", Node: rueidis.Options{Password: secret}}, "AUTH"},
	} {
		d, err := sentinel.Open(t.Context(), c.options)
		if err == nil {
			d.Close()
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, want := range append(c.options.Sentinels, c.options.Master, c.want) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", c.name, err, want)
			}
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %q gives the password away", c.name, err)
		}
	}
}

func TestOpenNamesTheImpossibleOption(t *testing.T) {
	t.Parallel()
	some := []string{"127.0.0.1:1"}
	for _, c := range []struct {
		option  string
		options sentinel.Options
	}{
		{"Sentinels", sentinel.Options{Master: "locks"}},
		{"Sentinels", sentinel.Options{Sentinels: []string{""}, Master: "locks"}},
		{"Master", sentinel.Options{Sentinels: some}},
		{"DB", sentinel.Options{Sentinels: some, Master: "locks", Node: rueidis.Options{DB: -1}}},
		{"CommandTimeout", sentinel.Options{Sentinels: some, Master: "locks", Node: rueidis.Options{CommandTimeout: -1}}},
	} {
		d, err := sentinel.Open(t.Context(), c.options)
		if wrong, ok := errors.AsType[*driver.OptionError](err); !ok || wrong.Option != c.option {
			t.Errorf("%+v: error %v, want an OptionError for %s", c.options, err, c.option)
		}
		if err == nil {
			d.Close()
		}
	}
}
