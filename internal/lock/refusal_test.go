package lock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
)

// A hold whose deadline has passed may not have ended yet. Nothing is left of its lease then, which is not a lease without
// an end.
func TestARefusalBecauseOfAHoldWhoseDeadlineHasPassed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m, ctx := manager(), context.Background()
		r := m.Mutex("job")
		h, err := r.Acquire(ctx, &Options{Lease: time.Second, Fixed: true})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		err = r.NotAcquired(ctx, h)
		refused, _ := errors.AsType[*lockerr.NotAcquiredError](err)
		if refused == nil || refused.TTL != 0 || !strings.HasSuffix(err.Error(), ", 0s left when last seen") {
			t.Errorf("got %v", err)
		}
		_ = m.Close(ctx)
	})
}
