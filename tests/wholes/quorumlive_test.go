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
// docs/guarantees.md: "A dead, frozen or slow minority delays no attempt". Method: processes that ask at the same time,
// a round trip of one to three milliseconds, and one server of three that is dead. Nobody stays inside for longer than
// ten milliseconds.
func TestSeveralProcessesGetAQuorumWhileOneServerIsDead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		processes int
		most      time.Duration // with all servers it is 20 ms for each; here they first learn for 3 s that one is silent
	}{{2, 5 * time.Second}, {5, 10 * time.Second}, {12, 20 * time.Second}} {
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			all := stage.Posts(t, 3, stage.Sure)
			for _, p := range all {
				p.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					time.Sleep(time.Millisecond + rand.N(2*time.Millisecond))
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

// Goal: a server far away counts as any other, also while a rival has a member on a near one. Method: two servers at a
// millisecond, one of them with a holder for an hour, and one at 100 ms.
func TestAFarServerMakesAMajorityBesideARival(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		for i, p := range all {
			p.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				time.Sleep([]time.Duration{time.Millisecond, time.Millisecond, 100 * time.Millisecond}[i])
				return send(commands...)
			})
		}
		check.Must(all[1].Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
		var locks []redlatch.Lock
		for _, p := range all {
			locks = append(locks, p.Rival(t, stage.Sure).Mutex("job"))
		}
		q := check.Must(redlatch.NewQuorum(locks...))
		for range 3 {
			h, err := q.Lock(ctx, redlatch.WithWait(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			_ = h.Unlock(ctx)
		}
	})
}
