package demo

import (
	"context"
	"time"
)

// sample is the lock as Redis had it at one moment.
type sample struct {
	at    time.Time
	owner string // "" while the lock is free
	count int
	ttl   time.Duration
	queue []string // the owners that wait for a fair lock, the next first
	err   error
}

// ask takes a sample. It blocks for one round trip.
func ask(ctx context.Context, m lock) sample {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := m.Status(ctx)
	s := sample{at: time.Now(), err: err}
	if err == nil && status.Locked {
		s.owner, s.count, s.ttl = status.Holders[0].Owner, status.Holders[0].Count, status.TTL
	}
	for _, w := range status.Queue {
		s.queue = append(s.queue, w.Owner)
	}
	return s
}

// poll takes samples until ctx ends.
func poll(ctx context.Context, m lock, every time.Duration, samples chan<- sample) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case samples <- ask(ctx, m):
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// gauge watches the TTL. It sees a renewal where one owner has more time left than
// the clock has left it.
type gauge struct {
	lease    time.Duration
	last     sample
	renewals int
}

// take takes the next sample. It reports whether the holder's lease was renewed
// since the last one, and what was left of it then.
func (g *gauge) take(s sample) (renewed bool, from time.Duration) {
	if s.err != nil {
		return false, 0
	}
	last := g.last
	g.last = s
	if s.owner == "" || s.owner != last.owner {
		return false, 0
	}
	// A renewal comes after a third of the lease and wins that back. Less than
	// half of a third is the server's rounding and the way of the reply.
	from = last.ttl - s.at.Sub(last.at)
	if s.ttl-from < g.lease/6 {
		return false, 0
	}
	g.renewals++
	return true, max(from, 0)
}
