package wholes_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: docs/multi-and-quorum.md, "How it is taken": "A server that does not answer costs only its own vote", and
// docs/guarantees.md: "A dead, frozen or slow minority delays no attempt". Method: processes that ask at the same time
// for a lock that each holds for ten milliseconds, short and long round trips, and one server of three that is dead.
func TestSeveralProcessesGetAQuorumWhileOneServerIsDead(t *testing.T) {
	t.Parallel()
	const near, far = time.Millisecond, 200 * time.Millisecond
	for _, c := range []struct {
		processes int
		trip      time.Duration // at least, and twice as long at most
		most      time.Duration // they learn for 3 s that a server is silent
	}{{2, near, 5 * time.Second}, {5, near, 10 * time.Second}, {12, near, 20 * time.Second}, {5, far, 30 * time.Second}, {12, far, time.Minute}} {
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			all := stage.Posts(t, 3, stage.Sure)
			for _, p := range all {
				p.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					time.Sleep(c.trip + rand.N(c.trip))
					return send(commands...)
				})
			}
			all[2].Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				time.Sleep(time.Millisecond)
				return stage.Dead(commands, send)
			})
			limited, cancel := context.WithTimeout(ctx, c.most)
			defer cancel()
			var work sync.WaitGroup
			var mu sync.Mutex
			served := 0
			began := time.Now()
			for range c.processes {
				var locks []redlatch.Lock
				for _, p := range all {
					locks = append(locks, p.Rival(t, stage.Sure).Mutex("job"))
				}
				q := check.Must(redlatch.NewQuorum(locks...))
				work.Go(func() {
					h, err := q.Lock(limited)
					if err != nil {
						return
					}
					time.Sleep(10 * time.Millisecond)
					_ = h.Unlock(ctx)
					mu.Lock()
					defer mu.Unlock()
					served++
				})
			}
			work.Wait()
			if served < c.processes {
				t.Errorf("%d of %d processes had the lock within %v; %d requests", served, c.processes, time.Since(began),
					all[0].Trips.Load()+all[1].Trips.Load()+all[2].Trips.Load())
			}
		})
	}
}

// Goal: a server far away counts as any other, also while a rival has a member on a near one, and from when it answers
// again. Method: two servers at a millisecond, one of them with a holder for an hour, and one at 100 ms that was dead.
func TestAFarServerMakesAMajorityBesideARival(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		takes := func(trip time.Duration) stage.Around {
			return func(commands []driver.Command, send stage.Sender) []driver.Reply {
				time.Sleep(trip)
				return send(commands...)
			}
		}
		all[0].Set(takes(time.Millisecond))
		all[1].Set(takes(time.Millisecond))
		all[2].Set(takes(100 * time.Millisecond))
		check.Must(all[1].Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
		quorum := func() *redlatch.Quorum {
			var locks []redlatch.Lock
			for _, p := range all {
				locks = append(locks, p.Rival(t, stage.Sure).Mutex("job"))
			}
			return check.Must(redlatch.NewQuorum(locks...))
		}
		check.Is(t, "unlock", check.Must(quorum().TryLock(ctx)).Unlock(ctx), nil)

		q := quorum()
		all[2].Set(stage.Dead)
		_, err := q.Lock(ctx, redlatch.WithWait(10*time.Second))
		check.Is(t, "with one of three servers", err, redlatch.ErrNotAcquired)
		all[2].Set(takes(100 * time.Millisecond))
		check.Is(t, "unlock", check.Must(q.Lock(ctx, redlatch.WithWait(time.Minute))).Unlock(ctx), nil)
	})
}
