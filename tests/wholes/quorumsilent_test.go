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
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// line is a connection to a server: it heeds contexts, and what was sent arrives.
type line struct {
	driver.Driver
	trip  time.Duration
	state *atomic.Int32
}

const (
	up int32 = iota
	down
	hangs
)

func (l line) Do(ctx context.Context, c driver.Command) driver.Reply { return l.Pipeline(ctx, c)[0] }

func (l line) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	switch l.state.Load() {
	case down:
		time.Sleep(100 * time.Microsecond)
		return stage.FailAll(commands, errors.Join(driver.ErrNotSent, driver.ErrNoConnection))
	case hangs:
		<-ctx.Done()
		return stage.FailAll(commands, ctx.Err())
	}
	answered := make(chan []driver.Reply, 1)
	go func() {
		time.Sleep(l.trip / 2)
		replies := l.Driver.Pipeline(context.WithoutCancel(ctx), commands...)
		time.Sleep(l.trip / 2)
		answered <- replies
	}()
	select {
	case replies := <-answered:
		return replies
	case <-ctx.Done():
		return stage.FailAll(commands, ctx.Err())
	}
}

// lines are the servers of a Quorum, with a state each.
type lines struct {
	posts  []*stage.Post
	trips  []time.Duration
	states []atomic.Int32
}

func newLines(t *testing.T, trips ...time.Duration) *lines {
	return &lines{stage.Posts(t, len(trips), stage.Sure), trips, make([]atomic.Int32, len(trips))}
}

// process is the Quorum of one more process.
func (l *lines) process(t *testing.T) *redlatch.Quorum {
	var locks []redlatch.Lock
	for i, p := range l.posts {
		locks = append(locks, p.On(t, line{p.Tap, l.trips[i], &l.states[i]}, stage.Sure).Mutex("job"))
	}
	return check.Must(redlatch.NewQuorum(locks...))
}

// refuse has the first server held by a stranger.
func (l *lines) refuse(t *testing.T, ctx context.Context) {
	check.Must(l.posts[0].Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
}

// Goal: a majority that does not answer is an outage, also where another server refuses, and also if it has been silent
// before. Method: servers that are down or hang, one that refuses, and one where the key is of another type.
func TestASilentMajorityIsNoRefusal(t *testing.T) {
	for _, c := range []struct {
		servers int
		state   int32
	}{{3, down}, {3, hangs}, {5, down}} {
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

// Goal: an outage of long ago costs nobody a lock. Method: a server at 150 ms that was down while nobody refused, and a rival
// on another one an hour later.
func TestAServerIsNotSilentForEver(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		l := newLines(t, time.Millisecond, time.Millisecond, 150*time.Millisecond)
		q := l.process(t)
		l.states[2].Store(down)
		h := check.Must(q.Lock(ctx))
		time.Sleep(10 * time.Second)
		check.Is(t, "Unlock", h.Unlock(ctx), nil)
		l.states[2].Store(up)
		time.Sleep(time.Hour)
		l.refuse(t, ctx)
		check.Is(t, "Unlock", check.Must(q.TryLock(ctx)).Unlock(ctx), nil)
	})
}

// Goal: processes learn that a server is silent also from waits that end before a request does. Method: waits of a second.
func TestShortWaitsLearnThatAServerIsSilent(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		l := newLines(t, 2*time.Millisecond, 2*time.Millisecond, 2*time.Millisecond)
		l.states[2].Store(down)
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var work sync.WaitGroup
		var served atomic.Int32
		for range 12 {
			q := l.process(t)
			work.Go(func() {
				for limited.Err() == nil {
					h, err := q.Lock(limited, redlatch.WithWait(time.Second))
					if err == nil {
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
		if n := served.Load(); n != 12 {
			t.Errorf("%d of 12 processes had the lock within a minute", n)
		}
	})
}
