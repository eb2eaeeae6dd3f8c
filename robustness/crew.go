package robustness

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

// crew is the traffic of one level: a few clients that contend for its own locks.
type crew struct {
	level   level
	clock   clock
	history history
	posts   []post

	stop func()
	work sync.WaitGroup
}

// post is a lock of a crew, and for how long it is held each time.
type post struct {
	lock        string
	register    *register
	least, most time.Duration
}

// newCrew makes two locks in the slot of each key: one that is held briefly, to see when
// there is service, and one that is held for up to two leases, to see what becomes of
// those who hold it.
func newCrew(l level, c clock, keys []string) *crew {
	crew := &crew{level: l, clock: c}
	label := strings.NewReplacer(" ", "-", ",", "").Replace(l.name)
	for _, key := range keys {
		crew.posts = append(crew.posts,
			post{"brief-{" + key + "}-" + label, &register{clock: c}, 50 * time.Millisecond, 100 * time.Millisecond},
			post{"long-{" + key + "}-" + label, &register{clock: c}, 200 * time.Millisecond, 2 * lease})
	}
	return crew
}

// client is one participant: it has a lock of every name.
type client func(name string) redlatch.Lock

// start has one worker of each client at each post, until stop.
func (c *crew) start(clients []client, seed uint64) {
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	for i, client := range clients {
		for j, p := range c.posts {
			lock, random := client(p.lock), rand.New(rand.NewPCG(seed, uint64(i*len(c.posts)+j)))
			c.work.Go(func() {
				for ctx.Err() == nil {
					c.visit(ctx, p, lock, random)
					pause(ctx, between(random, 0, p.least))
				}
			})
		}
	}
}

// end stops the traffic and waits for it.
func (c *crew) end() {
	c.stop()
	c.work.Wait()
}

// wait bounds one Lock, so that it is soon known again when it was asked for.
const wait = 300 * time.Millisecond

// visit holds a lock once and writes for as long as it believes to hold it, and has work.
func (c *crew) visit(ctx context.Context, p post, lock redlatch.Lock, random *rand.Rand) {
	s := span{lock: p.lock, asked: c.clock.now()}
	hold, err := lock.Lock(ctx, c.level.with(redlatch.WithWait(wait))...)
	if err != nil {
		return
	}
	s.granted, s.token = c.clock.now(), hold.Token()
	v := &visit{register: p.register, hold: hold, span: &s}
	for end := s.granted + between(random, p.least, p.most); v.write() && c.clock.now() < end && ctx.Err() == nil; {
		pause(ctx, between(random, 10*time.Millisecond, 20*time.Millisecond))
	}
	c.history.add(s)
	_ = hold.Unlock(context.Background()) // a hold that was lost is no surprise here
}

// brief are the locks that are held briefly.
func (c *crew) brief() (names []string) {
	for _, p := range c.posts {
		if p.most < lease {
			names = append(names, p.lock)
		}
	}
	return names
}

// stale are the stale writes that were let through, and the writes that were refused.
func (c *crew) stale() (through, refused int) {
	for _, p := range c.posts {
		open, guarded, kept := p.register.counts()
		if c.level.fenced {
			through, refused = through+guarded, refused+kept
		} else {
			through += open
		}
	}
	return through, refused
}

func between(random *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(random.Int64N(int64(high-low)+1))
}

// pause is the pace of the load.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
