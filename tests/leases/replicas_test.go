package leases_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a hold that would end while its replicas are waited for is one that they did not confirm, and no hold was lost.
// Method: the replica needs an hour, and may take longer than the hold lasts.
func TestReplicasAreNotWaitedForBeyondTheHold(t *testing.T) {
	t.Parallel()
	for what, limit := range map[string]redlatch.LockOption{"lease": redlatch.WithLease(time.Second), "limit": redlatch.WithMaxHold(time.Second)} {
		for kind, lock := range map[string]func(c *redlatch.Client) redlatch.Lock{
			"mutex":  func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
			"permit": func(c *redlatch.Client) redlatch.Lock { return c.PermitSemaphore("permits").Locker() },
			"multi": func(c *redlatch.Client) redlatch.Lock {
				return check.Must(redlatch.NewMulti(c.Mutex("job"), c.Mutex("log")))
			},
			"quorum": func(c *redlatch.Client) redlatch.Lock { return check.Must(redlatch.NewQuorum(c.Mutex("job"))) },
		} {
			t.Run(kind+" with a "+what, func(t *testing.T) {
				stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
					ctx := s.Limited()
					check.Must(s.Stranger().PermitSemaphore("permits").TrySetPermits(ctx, 1))
					h := check.Must(lock(s.On(stage.Lagging{Driver: s.Driver}, redlatch.Config{RestartDelay: -1})).Lock(ctx, redlatch.WithReplicas(1, time.Second)))
					check.Is(t, "Unlock", h.Unlock(ctx), nil) // the server knows the scripts
					var lost atomic.Int64
					c := s.On(stage.Lagging{Driver: s.Driver, Lag: time.Hour}, redlatch.Config{RestartDelay: -1, Observer: fixture.Observer(func(_ context.Context, e redlatch.Event) {
						if e.Kind == redlatch.EventLost {
							lost.Add(1)
						}
					})})
					_, err := lock(c).Lock(ctx, limit, redlatch.WithReplicas(1, 5*time.Second))
					check.Is(t, "Lock", err, redlatch.ErrNotReplicated)
					check.Is(t, "Close", c.Close(ctx), nil)
					if n := c.Stats().Losses; n != 0 || lost.Load() != 0 || errors.Is(err, redlatch.ErrLost) {
						t.Errorf("%d losses, and events of %d: %v", n, lost.Load(), err)
					}
				})
			})
		}
	}
}

// Goal: the same if the server is far away, and a replica that has the hold by the end of its time confirms it.
func TestAFarServerLeavesReplicasTime(t *testing.T) {
	t.Parallel()
	for lag, want := range map[time.Duration]error{400 * time.Millisecond: nil, time.Hour: redlatch.ErrNotReplicated} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			c := s.On(stage.Lagging{Driver: s.Driver, Lag: lag, Trip: 130 * time.Millisecond}, redlatch.Config{})
			h, err := c.Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Second), redlatch.WithReplicas(1, time.Minute))
			check.Is(t, "Lock", err, want)
			if n := c.Stats().Losses; n != 0 || errors.Is(err, redlatch.ErrLost) {
				t.Errorf("%d losses: %v", n, err)
			}
			if h != nil {
				check.Is(t, "Unlock", h.Unlock(s.Limited()), nil)
			}
		})
	}
}

// Goal: what replicas confirm is a lease. When they have it too late, it may be over there, although the hold is renewed.
func TestReplicasConfirmNoLeaseThatIsOver(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{LeaseTime: 30 * time.Second}, func(t *testing.T, s *stage.Stage) {
		c := s.On(stage.Lagging{Driver: s.Driver, Lag: 40 * time.Second}, redlatch.Config{LeaseTime: 30 * time.Second})
		check.Is(t, "Lock", check.ErrOf(c.Mutex("job").Lock(s.Limited(), redlatch.WithReplicas(1, time.Minute))), redlatch.ErrNotReplicated)
	})
}

// A server that does not know the scripts, such as one that was restarted, keeps nobody waiting for replicas twice.
func TestReplicasAreWaitedForOnce(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		c := s.On(stage.Lagging{Driver: s.Driver, Lag: time.Second}, redlatch.Config{})
		began := time.Now()
		h := check.Must(c.Mutex("job").Lock(s.Limited(), redlatch.WithReplicas(1, time.Minute)))
		check.Within(t, "it", time.Since(began), time.Second, time.Second+100*time.Millisecond)
		check.Is(t, "Unlock", h.Unlock(s.Limited()), nil)
	})
}
