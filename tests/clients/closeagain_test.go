package clients_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: Close of a client that is closed says so, also if its context has ended.
func TestCloseOfAClosedClientNeedsNoTime(t *testing.T) {
	t.Parallel()
	c := check.Must(redlatch.Open(t.Context(), "memory://"+redistest.Name(t), redlatch.Config{}))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, "Close", c.Close(t.Context()), nil)
	for range 50 {
		if err := c.Close(ended); err != nil {
			t.Fatal("everything has ended, and yet:", err)
		}
	}
}

// Goal: a user who lacks one right leaves no lock that never ends.
func TestALockThatIsRefusedHalfWayEnds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, missing := range []string{"pttl", "pexpire", "hset", "hdel", "hexists", "hlen"} {
		user := "no" + missing
		server.CLI(t, "ACL", "SETUSER", user, "on", ">x", "~*", "&*", "+@all", "-"+missing)
		c := fixture.Open(t, strings.Replace(server.URL(), "://", "://"+user+":x@", 1), redlatch.Config{})
		locks := []redlatch.Lock{c.Mutex(user + "m"), c.FairMutex(user + "f"), c.RWMutex(user + "w"), c.RWMutex(user + "r").RLocker()}
		for _, l := range append(locks, check.Must(redlatch.NewMulti(c.Mutex(user+"a"), c.Mutex(user+"b")))) {
			if h, err := l.TryLock(t.Context()); err == nil {
				h.Detach()
			}
		}
		for _, key := range []string{"m", "f", "w", "r", "a", "b"} {
			redistest.Eventually(t, 10*time.Second, func() bool { return server.CLI(t, "PTTL", user+key) != int64(-1) }, "without "+missing+" the lock "+user+key+" ends or is gone")
		}
	}
}
