package fair_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// distant is a driver whose every request takes a round trip. Requests to a frozen shard
// take until their context ends.
type distant struct {
	driver.Driver
	trip time.Duration

	mu     sync.Mutex
	frozen string
}

func (d *distant) freeze(shard string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frozen = shard
}

func (d *distant) Do(ctx context.Context, c driver.Command) driver.Reply {
	return d.Pipeline(ctx, c)[0]
}

// Pipeline has the parts of several shards go side by side, and returns when all have ended.
func (d *distant) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.mu.Lock()
	frozen := d.frozen
	d.mu.Unlock()
	time.Sleep(d.trip / 2)
	defer time.Sleep(d.trip / 2)
	replies := make([]driver.Reply, len(commands))
	stuck := false
	for i, c := range commands {
		if frozen != "" && strings.HasPrefix(c.Key, frozen) {
			replies[i].Err, stuck = stage.ErrCut, true
			continue
		}
		replies[i] = d.Driver.Do(ctx, c)
	}
	if stuck {
		timer := time.NewTimer(time.Minute)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	return replies
}

// sharded is a distant driver of several servers: the first letter of a key names its own.
type sharded struct{ *distant }

func (s sharded) Shard(key string) string { return key[:1] }
func (s sharded) ShardMessages() bool     { return false }

// turns notes in which order waiters are served.
type turns struct {
	mu     sync.Mutex
	served []int
	all    sync.WaitGroup
}

// wait starts a waiter. In its turn it holds the lock for no time.
func (q *turns) wait(s *stage.Stage, n int, l redlatch.Lock, opts ...redlatch.LockOption) {
	q.all.Go(func() {
		h, err := l.Lock(s.Limited(), opts...)
		if err != nil {
			s.Errorf("waiter %d: %v", n, err)
			return
		}
		q.mu.Lock()
		q.served = append(q.served, n)
		q.mu.Unlock()
		_ = h.Unlock(s.Context())
	})
}

// inOrder waits until all are served, and fails unless that was in ascending order.
func (q *turns) inOrder(t *testing.T, n int) {
	t.Helper()
	q.all.Wait()
	if !slices.IsSorted(q.served) || len(q.served) != n {
		t.Errorf("served %v, want %d in ascending order", q.served, n)
	}
}

// TestLongTheBeatsOfFiveHundredLocksCostOneRoundTrip has a client 10 ms away wait for 500 locks,
// with a waiter of a near client behind each of its waiters.
func TestLongTheBeatsOfFiveHundredLocksCostOneRoundTrip(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		const locks = 500
		far, near, holder := s.On(&distant{Driver: s.Memory, trip: 10 * time.Millisecond}, redlatch.Config{}), s.Client, s.Other(redlatch.Config{})
		holds := make([]*redlatch.Hold, locks)
		queues := make([]turns, locks)
		for i := range locks {
			name := fmt.Sprint("job", i)
			holds[i] = check.Must(holder.FairMutex(name).Lock(t.Context()))
			queues[i].wait(s, 1, far.FairMutex(name))
		}
		time.Sleep(time.Second)
		for i := range locks {
			queues[i].wait(s, 2, near.FairMutex(fmt.Sprint("job", i)))
		}
		time.Sleep(5 * time.Second)
		for i := range locks {
			_ = holds[i].Unlock(t.Context())
		}
		passed := 0
		for i := range locks {
			queues[i].all.Wait()
			if !slices.IsSorted(queues[i].served) {
				passed++
			}
		}
		if passed > 0 {
			t.Errorf("%d of %d living heads were passed over", passed, locks)
		}
	})
}

// TestAFrozenShardCostsNobodyOnAnotherTheirPlace has one client wait on a frozen shard and
// on a sound one.
func TestAFrozenShardCostsNobodyOnAnotherTheirPlace(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		d := &distant{Driver: s.Memory, trip: time.Millisecond}
		c := s.On(sharded{d}, redlatch.Config{})
		var frozen, sound turns
		var holds []*redlatch.Hold
		for i, name := range []string{"a{1}", "a{2}", "a{3}", "a{4}"} {
			h := check.Must(s.Client.FairMutex(name).Lock(t.Context()))
			frozen.wait(s, i, c.FairMutex(name))
			holds = append(holds, h)
		}
		h := check.Must(s.Client.FairMutex("b{1}").Lock(t.Context()))
		sound.wait(s, 1, c.FairMutex("b{1}"))
		time.Sleep(time.Second)
		sound.wait(s, 2, s.Client.FairMutex("b{1}"))
		d.freeze("a")
		time.Sleep(20 * time.Second)
		d.freeze("")
		_ = h.Unlock(t.Context())
		sound.inOrder(t, 2)
		for _, h := range holds {
			_ = h.Unlock(t.Context())
		}
		frozen.all.Wait()
	})
}

// TestTheNextInTurnEntersWhenAShortLeaseEnds has holders that die: each leaves the lock to
// its lease.
func TestTheNextInTurnEntersWhenAShortLeaseEnds(t *testing.T) {
	for _, lease := range []time.Duration{200 * time.Millisecond, 450 * time.Millisecond, 900 * time.Millisecond} {
		t.Run(lease.String(), func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				var mu sync.Mutex
				var entered []time.Time
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						check.Must(s.Client.FairMutex("job").Lock(t.Context(), redlatch.WithLease(lease)))
						mu.Lock()
						defer mu.Unlock()
						entered = append(entered, time.Now())
					})
					synctest.Wait()
				}
				all.Wait()
				for i := range len(entered) - 1 {
					check.Within(t, fmt.Sprint("time between the expiry and entry ", i+1), entered[i+1].Sub(entered[i])-lease, 0, 5*time.Millisecond)
				}
			})
		})
	}
}
