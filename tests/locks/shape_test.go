package locks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// What somebody else has put under a lock's name.

// forceable is a lock that can be freed by force.
type forceable interface {
	ForceUnlock(ctx context.Context) (bool, error)
}

// Goal: a mistyped name does not delete somebody's data. What lasts for ever, or was not
// written by a client with a UUID, is not taken for a lock.
func TestAForcedUnlockRefusesWhatMayBeSomebodysData(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{})
	locks := map[string]func(name string) forceable{
		"mutex": func(name string) forceable { return c.Mutex(name) },
		"fair":  func(name string) forceable { return c.FairMutex(name) },
		"read":  func(name string) forceable { return c.RWMutex(name) },
		"write": func(name string) forceable { return c.RWMutex(name) },
	}
	for what, found := range map[string]struct {
		owner string
		lease time.Duration
	}{
		"stock":                   {owner: "sku:1001"},
		"stock with a TTL":        {owner: "sku:1001", lease: time.Minute},
		"a lock without expiry":   {owner: random.UUID() + ":7"},
		"somebody without a UUID": {owner: "host-1", lease: time.Minute},
		"a UUID behind a prefix":  {owner: "x" + random.UUID() + ":7", lease: time.Minute},
	} {
		for side, lock := range locks {
			t.Run(what+"/"+side, func(t *testing.T) {
				name := redistest.Name(t)
				fields := holding(side, found.owner)
				server.CLI(t, append([]string{"HSET", name}, fields...)...)
				if found.lease > 0 {
					server.CLI(t, "PEXPIRE", name, fmt.Sprint(found.lease.Milliseconds()))
				}
				forced, err := lock(name).ForceUnlock(t.Context())
				check.Is(t, "ForceUnlock", err, redlatch.ErrWrongType)
				if forced {
					t.Error("it says that it has freed a lock")
				}
				if got := server.CLI(t, "HGETALL", name); fmt.Sprint(got) != fmt.Sprint(fields) {
					t.Errorf("the hash is %v, was %v", got, fields)
				}
			})
		}
	}
}

// holding is the hash of a lock that an owner holds twice.
func holding(side, owner string) []string {
	switch side {
	case "read":
		return []string{"mode", "read", owner, "2"}
	case "write":
		return []string{"mode", "write", owner + ":write", "2"}
	}
	return []string{owner, "2"}
}

// Who names the owner knows what is freed.
func TestForceUnlockIfFreesALockOfAnyOwner(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url)
		for _, owner := range []string{"host-1", "sku:1001", random.UUID() + ":" + random.UUID(), random.UUID() + ":7"} {
			for _, lease := range []time.Duration{0, time.Minute} {
				name := redistest.Name(t)
				put(t, d, name, owner, lease)
				if forced, err := c.Mutex(name).ForceUnlockIf(t.Context(), "host-2"); forced || err != nil {
					t.Errorf("%q, lease %v: for another owner ForceUnlockIf is %v, %v", owner, lease, forced, err)
				}
				forced, err := c.Mutex(name).ForceUnlockIf(t.Context(), owner)
				if !forced || err != nil || fixture.Do(t, d, "EXISTS", name).Int != 0 {
					t.Errorf("%q, lease %v: ForceUnlockIf is %v, %v", owner, lease, forced, err)
				}
			}
		}
	})
}

// put has an owner hold a mutex, for ever without a lease.
func put(t *testing.T, d driver.Driver, name, owner string, lease time.Duration) {
	t.Helper()
	fixture.Do(t, d, "HSET", name, owner, "2")
	if lease > 0 {
		fixture.Do(t, d, strings.Fields(fmt.Sprint("PEXPIRE ", name, " ", lease.Milliseconds()))...)
	}
}

// Goal: whoever is refused learns that the lock does not end by itself.
func TestARefusalSaysThatTheHolderNeverExpires(t *testing.T) {
	t.Parallel()
	url, name := redistest.Shared(t).URL(), redistest.Name(t)
	put(t, fixture.Raw(t, url), name, "host-1", 0)
	_, err := fixture.Open(t, url, redlatch.Config{}).Mutex(name).TryLock(t.Context())
	check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
	if want := "held by host-1, which never expires"; !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("the error is %q, want %q in it", err, want)
	}
}
