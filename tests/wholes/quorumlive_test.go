package wholes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Quorums of several processes, and servers that are silent.

// lines are the servers of a Quorum, with a state each.
type lines struct {
	posts  []*stage.Post
	trips  []time.Duration // at least, and twice as long at most
	states []atomic.Int32
}

func newLines(t *testing.T, trips ...time.Duration) *lines {
	return &lines{stage.Posts(t, len(trips), stage.Sure), trips, make([]atomic.Int32, len(trips))}
}

// process is the Quorum of one more process.
func (l *lines) process(t *testing.T) *redlatch.Quorum {
	var locks []redlatch.Lock
	for i, p := range l.posts {
		line := stage.Line{Driver: p.Tap, Trip: l.trips[i] + rand.N(l.trips[i]+1), State: &l.states[i]}
		locks = append(locks, p.On(t, line, stage.Sure).Mutex("job"))
	}
	return check.Must(redlatch.NewQuorum(locks...))
}

// refuse has the first server held by a stranger.
func (l *lines) refuse(t *testing.T, ctx context.Context) {
	check.Must(l.posts[0].Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
}

// serve has so many processes hold the Quorum for ten milliseconds each. They ask until they are served.
func (l *lines) serve(t *testing.T, ctx context.Context, processes int, most time.Duration, opts ...redlatch.LockOption) {
	t.Helper()
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var work sync.WaitGroup
	var served atomic.Int32
	for range processes {
		q := l.process(t)
		work.Go(func() {
			for limited.Err() == nil {
				if h, err := q.Lock(limited, opts...); err == nil {
					time.Sleep(10 * time.Millisecond)
					_ = h.Unlock(ctx)
					served.Add(1)
					return
				}
				time.Sleep(rand.N(10 * time.Millisecond))
			}
		})
	}
	work.Wait()
	if n := int(served.Load()); n < processes {
		t.Errorf("%d of %d processes had the lock within %v", n, processes, most)
	}
}

// Goal: docs/multi-and-quorum.md, "How it is taken": "A server that does not answer costs only its own vote", and
// docs/guarantees.md: "A dead, frozen or slow minority delays no attempt". Method: processes that ask at the same time,
// short and long round trips, and one server of three that is silent.
func TestSeveralProcessesGetAQuorumWhileOneServerIsDead(t *testing.T) {
	t.Parallel()
	const near, far = time.Millisecond, 200 * time.Millisecond
	for _, c := range []struct {
		processes int
		trip      time.Duration
		most      time.Duration // they learn for 3 s that a server is silent
	}{{2, near, 5 * time.Second}, {5, near, 10 * time.Second}, {12, near, 20 * time.Second}, {5, far, 30 * time.Second}, {12, far, 3 * time.Minute}} {
		for _, state := range []int32{stage.Down, stage.Hanging} {
			stage.Bubble(t, func(t *testing.T, ctx context.Context) {
				l := newLines(t, c.trip, c.trip, c.trip)
				l.states[2].Store(state)
				l.serve(t, ctx, c.processes, c.most)
			})
		}
	}
}

// Goal: processes learn that a server is silent also from waits that end before a request does. Method: waits of a second.
func TestShortWaitsLearnThatAServerIsSilent(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		l := newLines(t, time.Millisecond, time.Millisecond, time.Millisecond)
		l.states[2].Store(stage.Down)
		l.serve(t, ctx, 12, time.Minute, redlatch.WithWait(time.Second))
	})
}

// Goal: a server far away counts as any other, also while a rival has a member on a near one, and from when it answers
// again. Method: two near servers, one of them with a holder for an hour, and one at 100 ms that was dead.
func TestAFarServerMakesAMajorityBesideARival(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		l := newLines(t, time.Millisecond, time.Millisecond, 100*time.Millisecond)
		l.refuse(t, ctx)
		check.Is(t, "Unlock", check.Must(l.process(t).TryLock(ctx)).Unlock(ctx), nil)

		q := l.process(t)
		l.states[2].Store(stage.Hanging)
		_, err := q.Lock(ctx, redlatch.WithWait(10*time.Second))
		check.Is(t, "with one of three servers", err, redlatch.ErrNotAcquired)
		l.states[2].Store(stage.Up)
		check.Is(t, "Unlock", check.Must(q.Lock(ctx, redlatch.WithWait(20*time.Second))).Unlock(ctx), nil)
	})
}

// Goal: an outage of long ago costs nobody a lock. Method: a server at 150 ms that was down while nobody refused, and a rival
// on another one an hour later.
func TestAServerIsNotSilentForEver(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		l := newLines(t, time.Millisecond, time.Millisecond, 150*time.Millisecond)
		q := l.process(t)
		l.states[2].Store(stage.Down)
		h := check.Must(q.Lock(ctx))
		time.Sleep(10 * time.Second)
		check.Is(t, "Unlock", h.Unlock(ctx), nil)
		l.states[2].Store(stage.Up)
		time.Sleep(time.Hour)
		l.refuse(t, ctx)
		check.Is(t, "Unlock", check.Must(q.TryLock(ctx)).Unlock(ctx), nil)
	})
}

// Goal: a majority that does not answer is an outage, also where another server refuses, and also if it has been silent
// before. Method: servers that are down or hang, one that refuses, and one where the key is of another type.
func TestASilentMajorityIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		servers int
		state   int32
	}{{3, stage.Down}, {3, stage.Hanging}, {5, stage.Down}} {
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			l := newLines(t, make([]time.Duration, c.servers)...)
			l.refuse(t, ctx)
			if c.servers == 5 {
				_ = l.posts[1].Memory.Miniredis().Set("job", "text")
			}
			q := l.process(t)
			l.states[c.servers-1].Store(c.state)
			l.states[c.servers-2].Store(c.state)
			began := time.Now()
			for range 3 {
				if _, err := q.TryLock(ctx); errors.Is(err, redlatch.ErrNotAcquired) {
					t.Errorf("%+v: TryLock: %v", c, err)
				}
			}
			if _, err := q.Lock(ctx, redlatch.WithWait(time.Hour)); errors.Is(err, redlatch.ErrNotAcquired) {
				t.Errorf("%+v: Lock: %v", c, err)
			}
			check.Within(t, "time of four outages", time.Since(began), 0, 20*time.Second)
		})
	}
}
