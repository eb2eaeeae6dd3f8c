package locks_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: a replica that has not got a hold does not confirm it, whatever its lease and its limit are, and whatever its owner holds
// already. From Redis 7.2 on WAIT waits for what its own connection wrote. Method: a replica that hangs.
func TestAReplicaThatHangsConfirmsNothing(t *testing.T) {
	t.Parallel()
	servers := redistest.StartReplicas(t, 1)
	servers.Replicas[0].Freeze()
	lease, limit := redlatch.WithLease(20*time.Second), redlatch.WithMaxHold(20*time.Second)
	for what, opts := range map[string]struct{ outer, inner []redlatch.LockOption }{
		"plain":                   {},
		"lease":                   {inner: []redlatch.LockOption{lease}},
		"limit":                   {inner: []redlatch.LockOption{limit}},
		"lease in a longer lease": {[]redlatch.LockOption{redlatch.WithLease(time.Hour)}, []redlatch.LockOption{lease}},
		"lease in a limit":        {[]redlatch.LockOption{redlatch.WithMaxHold(10 * time.Second)}, []redlatch.LockOption{lease}},
		"limit in a longer one":   {[]redlatch.LockOption{redlatch.WithMaxHold(time.Hour)}, []redlatch.LockOption{limit}},
	} {
		for range 10 {
			c := fixture.Open(t, servers.Primary.URL(), redlatch.Config{}) // another connection, which has written nothing yet
			ctx, l := t.Context(), c.Mutex(redistest.Name(t)+what)
			if opts.outer != nil {
				ctx = c.WithOwner(ctx)
				check.Must(l.Lock(ctx, opts.outer...))
			}
			h, err := l.Lock(ctx, append(opts.inner, redlatch.WithReplicas(1, 10*time.Millisecond))...)
			check.Is(t, what, err, redlatch.ErrNotReplicated)
			if h != nil {
				check.Is(t, "Unlock", h.Unlock(ctx), nil)
			}
			check.Is(t, "Close", c.Close(context.Background()), nil)
		}
	}
}

// Goal: the same for each of many holds that are asked for at once: re-entries of a reader beside one with a longer lease,
// permits of a semaphore that has no end, and of one that has.
func TestAReplicaThatHangsConfirmsNoneOfMany(t *testing.T) {
	t.Parallel()
	servers := redistest.StartReplicas(t, 1)
	servers.Replicas[0].Freeze()
	name := redistest.Name(t)
	other := fixture.Open(t, servers.Primary.URL(), redlatch.Config{})
	check.Must(other.RWMutex(name).RLocker().Lock(t.Context(), redlatch.WithLease(time.Hour)))
	check.Must(other.PermitSemaphore(name+":permits").TrySetPermits(t.Context(), 1000))
	check.Must(other.PermitSemaphore(name+":mortal").TrySetPermits(t.Context(), 1000))
	servers.Primary.CLI(t, "EXPIRE", name+":mortal", "3600")
	for i := range 30 {
		c := fixture.Open(t, servers.Primary.URL(), redlatch.Config{}) // other connections, which have written nothing yet
		ctx := c.WithOwner(t.Context())
		lock := []func(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error){
			c.RWMutex(name).RLocker().Lock, c.PermitSemaphore(name + ":permits").Acquire, c.PermitSemaphore(name + ":mortal").Acquire,
		}[i%3]
		outer := check.Must(lock(ctx))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := check.ErrOf(lock(ctx, redlatch.WithReplicas(1, 10*time.Millisecond), redlatch.WithMaxHold(20*time.Second)))
				check.Is(t, []string{"reader", "permit", "mortal permit"}[i%3], err, redlatch.ErrNotReplicated)
			})
		}
		all.Wait()
		check.Is(t, "Unlock", outer.Unlock(ctx), nil)
		check.Is(t, "Close", c.Close(context.Background()), nil)
	}
	if left := servers.Primary.CLI(t, "TTL", name+":permits"); left != int64(-1) {
		t.Errorf("the semaphore ends after %v", left)
	}
}
