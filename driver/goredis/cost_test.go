package goredis_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/internal/redistest"
)

// TestCostsOfAPair counts those of a lock that nobody else wants. It is not parallel: it counts the allocations of the
// whole process.
func TestCostsOfAPair(t *testing.T) {
	if drivercheck.RaceEnabled {
		t.Skip("the race detector allocates, too")
	}
	c := redistest.Must(redlatch.New(open(t, dial(t, &redis.Options{Addr: redistest.Start(t).Addr()})), redlatch.Config{}))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	m := c.Mutex("order:1001")
	got := testing.AllocsPerRun(1000, func() {
		h, err := m.Lock(context.Background())
		if err == nil {
			err = h.Unlock(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if got > 24 {
		t.Errorf("%v allocations, want 24 at most", got)
	}
}
