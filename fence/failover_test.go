package fence_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/fence"
)

// Goal: what the documentation says of a failover that loses the lock and the increment of
// its counter. Tokens that count by one are given out again, and the guard does not tell the
// two holders apart. Tokens by the clock go on growing.
func TestATokenIsGivenAgainAfterAFailoverUnlessItFollowsTheClock(t *testing.T) {
	t.Parallel()
	for _, clock := range []bool{false, true} {
		d, err := memory.Open(t.Context(), memory.Options{})
		must(t, err)
		t.Cleanup(d.Close)
		take := func() int64 {
			c, err := redlatch.New(d, redlatch.Config{TokenClock: clock})
			must(t, err)
			t.Cleanup(func() { c.Close(context.Background()) })
			hold, err := c.Mutex("stock:7").TryLock(t.Context(), redlatch.WithFencing())
			must(t, err)
			return hold.Token()
		}
		var guard fence.Memory
		older := take()
		must(t, guard.Pass(t.Context(), older, "r"))
		must(t, d.Do(t.Context(), driver.Command{Words: []string{"FLUSHALL"}}).Err)
		newer := take()
		if err := guard.Pass(t.Context(), newer, "r"); err != nil || (newer > older) != clock {
			t.Errorf("TokenClock %v: %d after %d, %v", clock, newer, older, err)
		}
		if err := guard.Pass(t.Context(), older, "r"); (err != nil) != clock {
			t.Errorf("TokenClock %v: the older one gets %v", clock, err)
		}
	}
}
