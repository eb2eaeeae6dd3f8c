package redlatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
)

// far is a driver to a server that is far away. What was sent arrives, whether somebody
// still waits for the answer or not.
type far struct {
	driver.Driver
	oneWay time.Duration
}

func (d far) Do(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c)[0] }

func (d far) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	answered := make(chan []driver.Reply, 1)
	go func() {
		time.Sleep(d.oneWay)
		replies := d.Driver.Pipeline(context.WithoutCancel(ctx), commands...)
		time.Sleep(d.oneWay)
		answered <- replies
	}()
	select {
	case replies := <-answered:
		return replies
	case <-ctx.Done():
		return failAll(commands, ctx.Err())
	}
}

// farLocks are mutexes on so many servers of a round trip of 300 ms.
func farLocks(ctx context.Context, n int) (locks []redlatch.Lock, leave func()) {
	var ends []func()
	for range n {
		m := must(memory.Open(ctx, memory.Options{}))
		c := must(redlatch.New(far{m, 150 * time.Millisecond}, quiet(sure)))
		ends = append(ends, func() { _ = c.Close(ctx); m.Close() })
		locks = append(locks, c.Mutex("job"))
	}
	return locks, func() {
		for _, end := range ends {
			end()
		}
	}
}

// Four servers of a round trip of 300 ms take longer to lock one after another than a lease
// of one second lasts. The members are renewed meanwhile, which takes as long as they may
// go without. Whoever is the first to renew there finds no script, and loses that round.
func TestServersThatAreFarAwayAreHeldTogetherForAShortLease(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		locks, leave := farLocks(ctx, 4)
		defer leave()
		multi, quorum := redlatch.NewMulti(locks...), redlatch.NewQuorum(locks...)
		for _, lock := range []interface {
			Lock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error)
		}{multi, multi, quorum, quorum} {
			h, err := lock.Lock(ctx, redlatch.WithLease(time.Second), redlatch.WithWait(20*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			within(t, "what is left of the lease", time.Until(h.Deadline()), 500*time.Millisecond, time.Second)
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}
