package fence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: no two keys share a token, and every token lies in the slot of its key.
func TestEveryKeyHasATokenOfItsOwnInItsSlot(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		x := redistest.Name(t)
		for _, keys := range [][]string{
			{x, "{" + x + "}", "{" + x + "}:{" + x + "}", "a{" + x + "}", "{" + x + "}a", "{" + x, x + "{"},
			{x + "}", "}" + x, "{}" + x, "{}:{}" + x}, // no hash tag can name these slots
		} {
			for i, key := range keys {
				must(t, guard.Pass(t.Context(), int64(100-i), key)) // stale if it met another one
			}
		}
		for _, key := range []string{x, "{" + x + "}", "a{" + x + "}b", "{" + x, x + "{}"} {
			seen := &spy{Driver: guard.Driver}
			_, err := fence.Redis{Driver: seen}.Do(t.Context(), 200, "SET", key, "v")
			if err != nil && !strings.Contains(err.Error(), "hash tag") {
				t.Errorf("%q: %v", key, err)
			}
			for _, used := range seen.keys {
				if driver.Slot(used) != driver.Slot(key) {
					t.Errorf("%q is guarded by %q, which is in another slot", key, used)
				}
			}
		}
		for _, key := range []string{"", "x}", "}x", "{}x", "{}{x}", "}x{x"} {
			seen := &spy{Driver: guard.Driver}
			if err := (fence.Redis{Driver: seen}).Set(t.Context(), 200, key, "v"); err == nil || len(seen.sent) != 0 {
				t.Errorf("%q: %v, want it refused, and sent %q", key, err, seen.sent)
			}
		}
	})
}

// mostArguments is the documented limit of Redis.Do.
const mostArguments = 4000

func TestRedisPassesNoCommandThatIsTooLong(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		key := redistest.Name(t)
		items := slices.Repeat([]string{"x"}, mostArguments+1)
		if _, err := guard.Do(t.Context(), 34, "RPUSH", key, items...); err == nil {
			t.Error("a command that is too long was run")
		}
		// It has not passed: the older holder goes on.
		reply, err := guard.Do(t.Context(), 33, "RPUSH", key, items[1:]...)
		if err != nil || reply.Int != mostArguments {
			t.Errorf("the longest command: %d, %v", reply.Int, err)
		}
		if _, err := guard.Do(t.Context(), 34, "RPUSH", key, slices.Repeat(items, 9)...); err == nil {
			t.Error("a command that is far too long was run")
		}
		must(t, guard.Pass(t.Context(), 33, key))
	})
}

// Goal: a slot that moves keeps nobody from passing, and guards a key whose token has
// moved already.
func TestRedisPassesWhileItsSlotMoves(t *testing.T) {
	t.Parallel()
	servers := redistest.StartCluster(t, 2, 0)
	d, err := cluster.Open(t.Context(), cluster.Options{
		Addresses: servers.Addrs(),
		Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			return rueidis.Open(ctx, rueidis.Options{Address: address})
		},
	})
	must(t, err)
	defer d.Close()
	guard := fence.Redis{Driver: d}
	resource := redistest.Name(t)
	must(t, guard.Pass(t.Context(), 34, resource))
	must(t, guard.Set(t.Context(), 34, "{"+resource+"}written", "v"))
	from := servers.Master(t, resource)
	to := servers.Servers[0]
	if to == from {
		to = servers.Servers[1]
	}
	servers.MoveSlot(t, resource, to, func() {
		for _, token := range []int64{34, 35} {
			if err := guard.Pass(t.Context(), token, resource); err != nil {
				t.Errorf("a known resource in an open slot: %v", err)
			}
			if err := guard.Pass(t.Context(), token, "{"+resource+"}new"); err != nil {
				t.Errorf("a new resource in an open slot: %v", err)
			}
		}
		// What remains: Do needs the key and its token on one server.
		var refused *driver.ServerError
		err := guard.Set(t.Context(), 36, resource, "v")
		if !errors.As(err, &refused) || refused.Code() != "TRYAGAIN" {
			t.Errorf("a new key in an open slot: %v, want TRYAGAIN", err)
		}
	})
	for _, known := range []string{resource, "{" + resource + "}new"} {
		wantStale(t, guard.Pass(t.Context(), 33, known), 33, 35)
	}
	wantStale(t, guard.Set(t.Context(), 33, "{"+resource+"}written", "w"), 33, 34)
	must(t, guard.Set(t.Context(), 36, resource, "v"))
}
