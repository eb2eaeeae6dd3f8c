package fair_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// scriptsOf counts the scripts that a server has run.
func scriptsOf(t *testing.T, server *redistest.Server) (total int) {
	t.Helper()
	for line := range strings.SplitSeq(server.CLI(t, "INFO", "commandstats").(string), "\r\n") {
		var calls int
		_, rest, _ := strings.Cut(line, ":calls=")
		if n, _ := fmt.Sscanf(rest, "%d,", &calls); n == 1 && strings.HasPrefix(line, "cmdstat_evalsha:") {
			total += calls
		}
	}
	return total
}

// Goal: a grant to a waiter costs four scripts: it queues, asks again once its channel is subscribed,
// takes its turn, and releases. Keep-alives come on top, one a second.
func TestAFairGrantCostsFourScripts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	m := fixture.Open(t, server.URL(), redlatch.Config{}).FairMutex("job")
	check.Must(0, check.Must(m.Lock(t.Context())).Unlock(t.Context())) // the server knows the scripts
	h := check.Must(m.Lock(t.Context()))
	began, before := time.Now(), scriptsOf(t, server)
	served := make(chan error)
	go func() {
		h, err := m.Lock(t.Context())
		if err == nil {
			err = h.Unlock(t.Context())
		}
		served <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return scriptsOf(t, server) >= before+2 }, "the waiter asks twice")
	check.Must(0, h.Unlock(t.Context()))
	check.Must(0, <-served)
	keepAlives := int(time.Since(began) / time.Second)
	if n := scriptsOf(t, server) - before - 1; n < 4 || n > 4+keepAlives { // less the release of the first holder
		t.Errorf("the grant to a waiter cost %d scripts, want 4", n)
	}
}
