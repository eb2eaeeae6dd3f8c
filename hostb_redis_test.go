package redlatch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// A neighbour publishes on a lock's channel as fast as it can. Every message is a request.
func TestHostBAFloodOfMessagesIsNoFloodOfRequests(t *testing.T) {
	server := redistest.Start(t)
	c, other := open(t, server.URL(), redlatch.Config{}), open(t, server.URL(), redlatch.Config{})
	h := must(other.Mutex("job").Lock(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if next, err := c.Mutex("job").Lock(t.Context(), redlatch.WithWait(4*time.Second)); err == nil {
			_ = next.Unlock(t.Context())
		}
	}()
	redistest.Eventually(t, 3*time.Second, func() bool { return c.Stats().Subscriptions == 1 }, "it listens")
	d := raw(t, server.URL())
	do(t, d, "CONFIG", "RESETSTAT")
	sent := 0
	for began := time.Now(); time.Since(began) < 2*time.Second; sent++ {
		do(t, d, "PUBLISH", "redisson_lock__channel:{job}", "0")
	}
	var calls int
	stats := fmt.Sprint(server.CLI(t, "INFO", "commandstats"))
	_, rest, _ := strings.Cut(stats, "cmdstat_evalsha:calls=")
	fmt.Sscan(strings.SplitN(rest, ",", 2)[0], &calls)
	if calls > 200 {
		t.Errorf("%d messages in 2 s made one waiter ask %d times for a lock with 30 s left", sent, calls)
	}
	<-done
	_ = h.Unlock(t.Context())
}

// The longest time for replicas is no time at all.
func TestHostBTheLongestTimeForReplicasIsLong(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server.URL(), redlatch.Config{})
	began := time.Now()
	_, err := c.Mutex("job").Lock(t.Context(), redlatch.WithReplicas(1, math.MaxInt64), redlatch.WithWait(time.Second))
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("WithReplicas(1, %v) gave up after %v: %v", time.Duration(math.MaxInt64), took, err)
	}
}
