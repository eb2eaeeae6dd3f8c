package robustness

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/pause"
)

// traffic is that of one level: a few clients that contend for its own locks.
type traffic struct {
	level   level
	clock   clock
	history history
	targets []target

	stop func()
	work sync.WaitGroup
}

// target is a lock of the traffic, and how long it is held each time.
type target struct {
	lock        string
	least, most time.Duration
}

// newTraffic makes two locks in the slot of each key: one that is held briefly, to see when
// there is service, and one that is held for up to two leases, to see what becomes of
// those who hold it.
func newTraffic(l level, c clock, keys []string) *traffic {
	t := &traffic{level: l, clock: c}
	label := strings.NewReplacer(" ", "-", ",", "").Replace(l.name)
	for _, key := range keys {
		t.targets = append(t.targets,
			target{"brief-{" + key + "}-" + label, 50 * time.Millisecond, 100 * time.Millisecond},
			target{"long-{" + key + "}-" + label, 200 * time.Millisecond, 2 * lease})
	}
	return t
}

// client is one participant: it has a lock of every name.
type client func(name string) redlatch.Lock

// start runs one worker of each client for each target, until stop.
func (c *traffic) start(clients []client, seed uint64) {
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	for i, client := range clients {
		for j, p := range c.targets {
			lock, random := client(p.lock), rand.New(rand.NewPCG(seed, uint64(i*len(c.targets)+j)))
			c.work.Go(func() {
				for ctx.Err() == nil {
					c.holdOnce(ctx, p, lock, random)
					_ = pause.For(ctx, between(random, 0, p.least))
				}
			})
		}
	}
}

// end stops the traffic and waits for it.
func (c *traffic) end() {
	c.stop()
	c.work.Wait()
}

// wait bounds one Lock, so that it is soon known again when it was asked for.
const wait = 300 * time.Millisecond

// holdOnce takes a lock once. It keeps it while the hold is valid and its time is not over.
func (c *traffic) holdOnce(ctx context.Context, p target, lock redlatch.Lock, random *rand.Rand) {
	s := span{lock: p.lock, asked: c.clock.now()}
	hold, err := lock.Lock(ctx, c.level.with(redlatch.WithWait(wait))...)
	if err != nil {
		return
	}
	s.granted, s.token = c.clock.now(), hold.Token()
	end := s.granted + between(random, p.least, p.most)
	for now := c.clock.now(); hold.Valid() && s.sure < end && ctx.Err() == nil; now = c.clock.now() {
		s.sure = now
		_ = pause.For(ctx, between(random, 10*time.Millisecond, 20*time.Millisecond))
	}
	c.history.add(s)
	_ = hold.Unlock(context.Background()) // the hold may be lost
}

// brief returns the locks that are held briefly.
func (c *traffic) brief() (names []string) {
	for _, p := range c.targets {
		if p.most < lease {
			names = append(names, p.lock)
		}
	}
	return names
}

func between(random *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(random.Int64N(int64(high-low)+1))
}
