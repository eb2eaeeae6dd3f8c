package polling_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Quorums whose waits poll. Their waiters go behind the others after each vote.

// Goal: one waiter of a process asks each server at the pauses that were asked for. Method: waiters behind locks that stay
// held for longer than they wait.
func TestOneWaiterOfAProcessPollsForAQuorum(t *testing.T) {
	for _, waiters := range []int{1, 2, 20} {
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			all := stage.Posts(t, 3, stage.Sure)
			for _, p := range all {
				check.Must(p.Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
			}
			before := all[0].Scripts.Load()
			var wg sync.WaitGroup
			for range waiters {
				wg.Go(func() {
					_, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx, spin, redlatch.WithWait(10*time.Second))
					check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
				})
				synctest.Wait()
			}
			wg.Wait()
			most := int64(175)
			if waiters > 1 { // each asks as it joins and before its wait ends, and others may be in front for another server
				most = 2 * (most + 2*int64(waiters))
			}
			check.Within(t, fmt.Sprint("requests of ", waiters, " at one server in 10 s"), all[0].Scripts.Load()-before, 80, most)
		})
	}
}

// Goal: a wait ends with the lock if it was free a moment before, also the wait of a waiter behind another. Method: pauses as
// long as the wait, and requests that take 5 ms.
func TestTheNextWaiterForAQuorumAsksBeforeItsWaitEnds(t *testing.T) {
	stage.Story(t, redlatch.Config{RestartDelay: -1, PollCap: 2 * time.Minute}, func(t *testing.T, s *stage.Stage) {
		check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
		s.Driver.Set(func(c []driver.Command, send stage.Sender) []driver.Reply {
			time.Sleep(5 * time.Millisecond)
			return send(c...)
		})
		slow := redlatch.WithBackoff(30*time.Second, 30*time.Second)
		q := check.Must(redlatch.NewQuorum(s.Client.Mutex("job")))
		ctx, cancel := context.WithCancel(s.Limited())
		defer random.Replace(func(uint64) uint64 { return 0 })() // pauses of 30 s
		gone := make(chan error, 1)
		go func() { gone <- check.ErrOf(q.Lock(ctx, slow)) }()
		time.Sleep(100 * time.Millisecond) // it is the first in the queue
		time.AfterFunc(30500*time.Millisecond, func() { s.Memory.Miniredis().Del("job") })
		_, err := q.Lock(s.Limited(), slow, redlatch.WithWait(31*time.Second))
		check.Is(t, "Lock", err, nil)
		cancel()
		check.Is(t, "the other wait", <-gone, redlatch.ErrNotAcquired)
	})
}

// Goal: a wait ends with the lock if it was free a moment before, also after votes that were split. Method: one of three servers
// grants it each time.
func TestTheLastVoteComesInTimeAfterSplitVotes(t *testing.T) {
	for range 10 { // the pause after a split vote is at random
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			all := stage.Posts(t, 3, redlatch.Config{RestartDelay: -1, PollCap: time.Hour})
			for _, p := range all[:2] {
				check.Must(p.Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
				time.AfterFunc(29700*time.Millisecond, func() { p.Memory.Miniredis().Del("job") })
			}
			q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
			h, err := q.Lock(ctx, redlatch.WithBackoff(500*time.Millisecond, 20*time.Second), redlatch.WithWait(30*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			_ = h.Unlock(ctx)
		})
	}
}

// The same for a server that is far away. Method: the pause before the last vote is as long as it may be.
func TestTheLastVoteOfAFarQuorumComesInTimeAfterSplitVotes(t *testing.T) { // not parallel: it replaces random numbers
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, redlatch.Config{RestartDelay: -1, PollCap: time.Hour}) // both are needed
		check.Must(all[0].Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
		all[0].Slow(30 * time.Millisecond)
		defer random.Replace(func(n uint64) uint64 { // the pause before the last vote is a whole quarter of the rest
			if n < uint64(12*time.Millisecond) {
				return 0
			}
			return n - 1
		})()
		time.AfterFunc(29850*time.Millisecond, func() { all[0].Memory.Miniredis().Del("job") })
		h, err := q.Lock(ctx, redlatch.WithBackoff(500*time.Millisecond, 20*time.Second), redlatch.WithWait(30*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		_ = h.Unlock(ctx)
	})
}

// Goal: after a grant the pauses of the process begin anew. Method: a lock that a stranger has for minutes, then this process,
// and then a stranger for 200 ms. Nobody announces its release.
func TestPausesBeginAnewAfterAGrant(t *testing.T) {
	for kind, of := range map[string]func(*redlatch.Client) redlatch.Lock{
		"mutex":  func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
		"quorum": func(c *redlatch.Client) redlatch.Lock { return check.Must(redlatch.NewQuorum(c.Mutex("job"))) },
	} {
		t.Run(kind, func(t *testing.T) {
			stage.Story(t, redlatch.Config{RestartDelay: -1, PollCap: 2 * time.Minute}, func(t *testing.T, s *stage.Stage) {
				check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
				poll := redlatch.WithBackoff(10*time.Millisecond, 30*time.Second)
				got := make(chan *redlatch.Hold, 3)
				for range cap(got) {
					go func() { got <- check.Must(of(s.Client).Lock(s.Limited(), poll)) }()
					synctest.Wait()
				}
				time.Sleep(3 * time.Minute)
				s.Memory.Miniredis().Del("job")
				first := <-got
				s.Memory.Miniredis().Del("job")
				check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
				check.Is(t, "Unlock", first.Unlock(s.Limited()), redlatch.ErrLost)
				time.Sleep(200 * time.Millisecond)
				s.Memory.Miniredis().Del("job")
				freed := time.Now()
				_ = (<-got).Unlock(s.Limited())
				check.Within(t, "wait after the release", time.Since(freed), 0, time.Second)
				_ = (<-got).Unlock(s.Limited())
			})
		})
	}
}
