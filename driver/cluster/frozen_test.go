package cluster_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the parts of a pipeline go side by side and fail independently, under load too.
// Method: more pipelines than one connection takes at a time reach over a frozen server
// and two others. While all of them wait for the frozen server, the other parts are
// carried out, and further calls to these servers are as quick as ever.
func TestAFrozenServerCostsTheOtherPartsOfAPipelineNothing(t *testing.T) {
	t.Parallel()
	const pipelines = 1500
	c := redistest.StartCluster(t, 3, 0)
	d := openPatient(t, c.Servers[1].Addr())
	frozen, one, two := c.KeyAt(t, c.Servers[0]), c.KeyAt(t, c.Servers[1]), c.KeyAt(t, c.Servers[2])
	for _, key := range []string{frozen, one, two} {
		do(t, d, "GET", key)
	}
	c.Servers[0].Freeze()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make([][]driver.Reply, pipelines)
	var callers sync.WaitGroup
	for i := range results {
		callers.Go(func() {
			results[i] = d.Pipeline(ctx, command("INCR", one), command("INCR", frozen), command("INCR", two))
		})
	}
	began := time.Now()
	want := strconv.Itoa(pipelines)
	redistest.Eventually(t, soon, func() bool {
		return do(t, d, "GET", one).Str == want && do(t, d, "GET", two).Str == want
	}, "the other parts are carried out while the frozen server is waited for")
	for range 100 {
		began := time.Now()
		do(t, d, "GET", one)
		if took := time.Since(began); took > disturbed {
			t.Errorf("a call to another server took %v", took)
		}
	}
	t.Logf("%d pipelines: the other parts took %v", pipelines, time.Since(began))
	cancel()
	callers.Wait()
	for _, replies := range results {
		if replies[0].Err != nil || replies[2].Err != nil || !errors.Is(replies[1].Err, context.Canceled) {
			t.Fatalf("replies %+v", replies)
		}
	}
}
