package locks_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: peers are told in the way that the oldest of them understands, and no other.
func TestReleasesAreAnnouncedForTheOldestPeer(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		for oldest, want := range map[string][]string{
			"": {"1", "0"}, "none": {"1", "0"}, "3.10.3": {"1", "0"}, "4.7.0": {"1", "0"},
			"3.10.2": {"1", "00", "0"}, "2.15.2": {"1", "00", "0"},
		} {
			c, name := fixture.Open(t, url, redlatch.Config{OldestPeer: oldest}), redistest.Name(t)
			all := fixture.Heard(t, url, "redisson_rwlock:{"+name+"}")
			for _, lock := range []redlatch.Lock{c.RWMutex(name), c.RWMutex(name).RLocker()} {
				if err := check.Must(lock.Lock(t.Context())).Unlock(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := all(); !slices.Equal(got, want) {
				t.Errorf("oldest peer %q: a write and a read release are announced by %q, want %q", oldest, got, want)
			}
		}
	})
}

// Goal: the message for old peers is no second call for ours. Method: twenty of them, and
// then one that calls, while the lock is held: the waiter looks once.
func TestTheMessageForOldPeersWakesNoneOfOurs(t *testing.T) {
	t.Parallel()
	server, name := redistest.Start(t), redistest.Name(t)
	cfg := redlatch.Config{OldestPeer: "3.9.0", PollCap: time.Minute}
	a, b := fixture.Open(t, server.URL(), cfg), fixture.Open(t, server.URL(), cfg)
	h := check.Must(a.RWMutex(name).Lock(t.Context()))
	entered := make(chan *redlatch.Hold)
	go func() { entered <- check.Must(b.RWMutex(name).Lock(t.Context())) }()
	looks := func() int { return calls(t, server, "evalsha") }
	redistest.Eventually(t, 5*time.Second, func() bool { return b.Stats().Subscriptions == 1 }, "the other waits")
	// The attempt that follows the acknowledgement is over when this one is.
	redistest.Eventually(t, 5*time.Second, func() bool { return looks() >= 3 }, "it has looked")

	before, channel := looks(), "redisson_rwlock:{"+name+"}"
	for range 20 {
		server.CLI(t, "PUBLISH", channel, "00")
	}
	server.CLI(t, "PUBLISH", channel, "0")
	redistest.Eventually(t, 5*time.Second, func() bool { return looks() > before }, "it has looked again")
	if err := h.Unlock(t.Context()); err != nil { // one more, and the look of the waiter
		t.Fatal(err)
	}
	h = <-entered
	if got := looks() - before; got != 3 {
		t.Errorf("%d scripts for one call and one release, want 3", got)
	}
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// calls is how often a server has carried out a command.
func calls(t *testing.T, server *redistest.Server, command string) int {
	t.Helper()
	_, rest, _ := strings.Cut(server.CLI(t, "INFO", "commandstats").(string), "cmdstat_"+command+":calls=")
	digits, _, _ := strings.Cut(rest, ",")
	n, _ := strconv.Atoi(digits)
	return n
}
