package locks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: the read holds of one owner cost the server a bounded time for each request, because the layout has
// a key for each. Method: as many as there may be, and one more.
func TestLongAReadHoldTooManyIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{})
	ctx, m := c.WithOwner(t.Context()), c.RWMutex("job")
	const most = 1024
	var holds []*redlatch.Hold
	for range most {
		holds = append(holds, check.Must(m.RLock(ctx)))
	}
	h, err := m.RLock(ctx)
	check.Is(t, "one more", err, redlatch.ErrUnsupported)
	if h != nil {
		holds = append(holds, h)
	}
	var micros int64
	for range 5 { // the quickest counts: the machine may be busy
		server.CLI(t, "CONFIG", "RESETSTAT")
		release(t, t.Context(), holds[len(holds)-1])
		holds[len(holds)-1] = check.Must(m.RLock(ctx))
		var calls, all int64
		for line := range strings.SplitSeq(server.CLI(t, "INFO", "commandstats").(string), "\r\n") {
			_, _ = fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,usec=%d,", &calls, &all)
		}
		if each := all / max(calls, 1); micros == 0 || each < micros {
			micros = each
		}
	}
	t.Logf("a request with %d read holds takes the server %d µs", most, micros)
	if micros > 30_000 {
		t.Errorf("a request with %d read holds takes the server %d µs", most, micros)
	}
	for _, h := range holds {
		release(t, t.Context(), h)
	}
}
