//go:build interop

package interop_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// triple is a multi-lock over three names that derive from one.
func triple(name string) string { return several(name+":1", name+":2", name+":3") }

// Goal: a multi-lock of either side is had as a whole or not at all, whichever of its
// members the other side holds; who does not get it leaves the others free, and nothing
// behind. Method: one member after the other is held, and the whole is tried without a
// wait, with one that ends, and with one that does not.
func allOrNothing(t *testing.T, r rig) {
	r.bothWays(t, func(t *testing.T, one, other peer) {
		s := settings{watchdog: 30 * time.Second}
		whole, part, free := newClient(t, one, s), newClient(t, other, s), newClient(t, other, s)
		name := redistest.Name(t)
		all := triple(name)
		for i, held := range members(all) {
			part.must(t, lock("mutex", held))
			for _, try := range []command{tryLock("multi", all), tryLock("multi", all).waiting(100 * time.Millisecond)} {
				whole.mustNot(t, try)
				for _, rest := range slices.Delete(members(all), i, i+1) {
					free.must(t, tryLock("mutex", rest))
					free.must(t, unlock("mutex", rest))
				}
			}
			wanted := lock("multi", all)
			got := whole.start(wanted)
			whole.parked(t)
			part.must(t, unlock("mutex", held))
			if entered := whole.await(t, wanted, got); !entered.OK {
				t.Fatalf("%v: %+v", whole, entered)
			}
			for _, each := range members(all) {
				part.mustNot(t, tryLock("mutex", each))
			}
			part.mustNot(t, tryLock("multi", all))
			whole.must(t, unlock("multi", all))
			empty(t, name)
		}
	})
}

// empty waits until there is nothing of a name in Redis but the count of its tokens, which
// stays for good. Redisson deletes the key of an unlock a moment after it has answered.
func empty(t *testing.T, name string) {
	t.Helper()
	var left []string
	defer func() {
		if t.Failed() {
			t.Logf("there is left %q", left)
		}
	}()
	redistest.Eventually(t, 20*time.Second, func() bool {
		left = slices.DeleteFunc(redistest.Shared(t).Keys(t, "*"+name+"*"), func(key string) bool {
			return passing.MatchString(key) || strings.HasPrefix(key, "redisson_lock_token:")
		})
		return len(left) == 0
	}, "nothing is left in Redis")
}
