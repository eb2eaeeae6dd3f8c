package demo

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// gauge watches a lock in Redis. It sees a renewal if one owner has more time left than the
// clock has left it.
type gauge struct {
	name  string
	lock  *redlatch.Mutex // which sees a mutex as a fair lock without a queue
	lease time.Duration
	sample
	err      error // why the last attempt gave no sample
	renewals int
}

// sample is a lock as Redis had it at one moment.
type sample struct {
	at    time.Time
	owner string // "" while the lock is free
	ttl   time.Duration
	queue []redlatch.Waiter // for a fair lock, the next first
}

// ask asks Redis for the lock. It blocks for one round trip, and for a second at most.
func (g *gauge) ask(ctx context.Context) (renewed bool, from time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := g.lock.Status(ctx)
	if g.err = err; err != nil {
		return false, 0
	}
	s := sample{at: time.Now(), queue: status.Queue}
	if status.Locked {
		s.owner, s.ttl = status.Holders[0].Owner, status.TTL
	}
	return g.take(s)
}

// take takes the next sample. It reports whether the holder's lease was renewed
// since the last one, and what was left of it then.
func (g *gauge) take(s sample) (renewed bool, from time.Duration) {
	last := g.sample
	g.sample = s
	from = max(last.ttl-s.at.Sub(last.at), 0)
	// A renewal comes after a third of the lease and wins that back. Less than half of
	// a third is the server's rounding and the delay of the reply.
	if s.owner == "" || s.owner != last.owner || s.ttl-from < g.lease/6 {
		return false, 0
	}
	g.renewals++
	return true, from
}

// left is what the holder has left of its lease, run down from the last sample.
func (g *gauge) left(now time.Time) time.Duration { return max(g.ttl-now.Sub(g.at), 0) }
