package demo

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// lock is what the parent looks at, and frees at the end.
type lock interface {
	Name() string
	Status(ctx context.Context) (redlatch.Status, error)
	ForceUnlock(ctx context.Context) (bool, error)
}

// sample is a lock as Redis had it at one moment.
type sample struct {
	at    time.Time
	owner string // "" while the lock is free
	count int
	ttl   time.Duration
	queue []redlatch.Waiter // for a fair lock, the next first
}

// gauge watches the TTL. It sees a renewal where one owner has more time left than
// the clock has left it.
type gauge struct {
	lease    time.Duration
	last     sample
	err      error // why the last attempt gave no sample
	renewals int
}

// ask asks Redis for the lock. It blocks for one round trip, and for a second at most.
func (g *gauge) ask(ctx context.Context, l lock) (renewed bool, from time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := l.Status(ctx)
	if g.err = err; err != nil {
		return false, 0
	}
	s := sample{at: time.Now(), queue: status.Queue}
	if status.Locked {
		s.owner, s.count, s.ttl = status.Holders[0].Owner, status.Holders[0].Count, status.TTL
	}
	return g.take(s)
}

// take takes the next sample. It reports whether the holder's lease was renewed
// since the last one, and what was left of it then.
func (g *gauge) take(s sample) (renewed bool, from time.Duration) {
	last := g.last
	g.last = s
	if s.owner == "" || s.owner != last.owner {
		return false, 0
	}
	// A renewal comes after a third of the lease and wins that back. Less than half of
	// a third is the server's rounding and the delay of the reply.
	from = last.ttl - s.at.Sub(last.at)
	if s.ttl-from < g.lease/6 {
		return false, 0
	}
	g.renewals++
	return true, max(from, 0)
}
