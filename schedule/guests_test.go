package schedule_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/schedule"
)

// Locks that users have written.

// heedless is one that heeds no context.
type heedless struct{ *redlatch.Mutex }

func (l heedless) TryLock(ctx context.Context, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.Mutex.TryLock(context.WithoutCancel(ctx), opts...)
}

// whole is one that takes several locks, with the options that these take.
type whole struct{ *redlatch.Multi }

func (l whole) Lock(ctx context.Context, _ ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.Multi.Lock(ctx)
}

func (l whole) TryLock(ctx context.Context, _ ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.Multi.TryLock(ctx)
}

// Goal: locks of users run their jobs, and Run holds none before the first time.
func TestLocksOfUsersRunJobs(t *testing.T) {
	for name, of := range map[string]func(c *redlatch.Client) redlatch.Lock{
		"heedless": func(c *redlatch.Client) redlatch.Lock { return heedless{c.Mutex("job")} },
		"whole": func(c *redlatch.Client) redlatch.Lock {
			multi, err := redlatch.NewMulti(c.Mutex("job"), c.Mutex("other"))
			if err != nil {
				panic(err)
			}
			return whole{multi}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				client, runs := s.Client(redlatch.Config{}), 0
				time.AfterFunc(30*time.Second, func() {
					if s.Miniredis().Exists("job") || client.Stats().Holds > 0 {
						t.Error("the lock is held before the first time")
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Second)
				defer cancel()
				_ = schedule.Run(ctx, of(client), schedule.Every(time.Minute), schedule.Job{
					Do: func(context.Context, time.Time, *redlatch.Hold) error { runs++; return nil },
				})
				if runs != 10 {
					t.Errorf("%d runs, want 10", runs)
				}
			})
		})
	}
}
