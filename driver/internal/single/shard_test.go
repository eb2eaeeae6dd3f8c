package single_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// startNode runs a cluster of one server, which has all slots.
func startNode(t *testing.T) *redistest.Server {
	t.Helper()
	server := redistest.Start(t, "--cluster-enabled", "yes")
	server.CLI(t, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	redistest.Eventually(t, soon, func() bool {
		return strings.Contains(server.CLI(t, "CLUSTER", "INFO").(string), "cluster_state:ok")
	}, "the cluster works")
	return server
}

// listenToShard opens a listener that tells its events as lines.
func listenToShard(t *testing.T, d driver.Driver) (driver.ShardListener, <-chan string) {
	t.Helper()
	lines := make(chan string, 100)
	l := redistest.Must(d.Listen(t.Context(), driver.Events{
		Subscribed: func(channel string) { lines <- "+" + channel },
		Evicted:    func(channel string) { lines <- "-" + channel },
		Message:    func(channel, payload string) { lines <- channel + " " + payload },
	}))
	return l.(driver.ShardListener), lines
}

// wantLines checks the next events.
func wantLines(t *testing.T, lines <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := drivercheck.Within(t, lines, w); got != w {
			t.Errorf("event %q, want %q", got, w)
		}
	}
}

func TestShardMessagesComeInOrderWithTheOthers(t *testing.T) {
	t.Parallel()
	server := startNode(t)
	d := open(t, single.Options{Address: server.Addr()})
	l, lines := listenToShard(t, d)
	if err := errors.Join(l.SubscribeShard(t.Context(), "{a}1", "{a}2"), l.Subscribe(t.Context(), "{a}1")); err != nil {
		t.Fatal(err)
	}
	wantLines(t, lines, "+{a}1", "+{a}2", "+{a}1")
	for i := range 50 {
		do(t, d, "SPUBLISH", "{a}1", fmt.Sprint("s", i))
		do(t, d, "PUBLISH", "{a}1", fmt.Sprint("p", i))
		wantLines(t, lines, fmt.Sprint("{a}1 s", i), fmt.Sprint("{a}1 p", i))
	}
	if err := l.UnsubscribeShard(t.Context(), "{a}1", "{a}2"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.UnsubscribeShard(t.Context()), l.SubscribeShard(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, channel := range []string{"{a}1", "{a}2"} {
		if n := do(t, d, "SPUBLISH", channel, "lost").Int; n != 0 {
			t.Errorf("%d are still subscribed to %s", n, channel)
		}
	}
	do(t, d, "PUBLISH", "{a}1", "found")
	wantLines(t, lines, "{a}1 found")
}

// TestOnlyTheServersOwnUnsubscriptionIsAnEviction: a slot leaves under one channel, and
// another channel is left on request, in both orders.
func TestOnlyTheServersOwnUnsubscriptionIsAnEviction(t *testing.T) {
	t.Parallel()
	server := startNode(t)
	slot := fmt.Sprint(driver.Slot("{a}"))
	d := open(t, single.Options{Address: server.Addr()})
	l, lines := listenToShard(t, d)
	for range 3 {
		if err := l.SubscribeShard(t.Context(), "{a}left", "{a}kept"); err != nil {
			t.Fatal(err)
		}
		wantLines(t, lines, "+{a}left", "+{a}kept")
		if err := l.UnsubscribeShard(t.Context(), "{a}left", "{a}never"); err != nil {
			t.Fatal(err)
		}
		server.CLI(t, "CLUSTER", "DELSLOTS", slot)
		wantLines(t, lines, "-{a}kept")

		var refused *driver.ServerError
		for _, ask := range []error{
			l.UnsubscribeShard(t.Context(), "{a}kept"), // comes after the eviction
			l.SubscribeShard(t.Context(), "{a}kept"),
		} {
			if !errors.As(ask, &refused) {
				t.Errorf("error %v, want the server's refusal", ask)
			}
		}
		server.CLI(t, "CLUSTER", "ADDSLOTS", slot)
		redistest.Eventually(t, soon, func() bool {
			return strings.Contains(server.CLI(t, "CLUSTER", "INFO").(string), "cluster_state:ok")
		}, "the slot is served again")
	}
	if len(lines) > 0 {
		t.Errorf("one event more: %q", <-lines)
	}
}

func TestLongAServersMovedReachesTheSubscriber(t *testing.T) {
	t.Parallel()
	a, b := startNode(t), startNode(t)
	slot := fmt.Sprint(driver.Slot("{a}"))
	// a learns of b, and that the slot is b's.
	_, bus, _ := strings.Cut(strings.Fields(b.CLI(t, "CLUSTER", "NODES").(string))[1], "@")
	host, port, _ := net.SplitHostPort(b.Addr())
	a.CLI(t, "CLUSTER", "DELSLOTS", slot)
	bus, _, _ = strings.Cut(bus, ",")
	id := b.CLI(t, "CLUSTER", "MYID").(string)
	a.CLI(t, "CLUSTER", "MEET", host, port, bus)
	d := open(t, single.Options{Address: a.Addr()})
	l, _ := listenToShard(t, d)
	redistest.Eventually(t, soon, func() bool {
		a.CLI(t, "CLUSTER", "SETSLOT", slot, "NODE", id)
		err := l.SubscribeShard(t.Context(), "{a}1")
		var refused *driver.ServerError
		return errors.As(err, &refused) && refused.Code() == "MOVED"
	}, "the subscription is refused by MOVED")
}
