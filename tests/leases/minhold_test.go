package leases_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// The least time of a lock (WithMinHold).

var leastKinds = []string{"mutex", "fair", "fenced"}

// Goal: the lock is not free before its least time is over, and not much longer. Method: a hold of a
// second, shorter and longer than the lease.
func TestALockStaysForItsLeastTime(t *testing.T) {
	t.Parallel()
	for _, kind := range leastKinds {
		for _, least := range []time.Duration{5 * time.Second, 5 * time.Minute} {
			t.Run(kind+"/"+least.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l, url := stage.Ways[kind], "memory://"+redistest.Name(t)
					c, other := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
					h := check.Must(l.Of(c, "job").Lock(t.Context(), append(l.Opts, redlatch.WithMinHold(least))...))
					began := time.Now()
					if pttl := fixture.Do(t, fixture.Raw(t, url), "PTTL", "job").Int; pttl < least.Milliseconds() {
						t.Errorf("at the grant the TTL is %d ms", pttl)
					}
					entered := make(chan time.Duration, 2)
					for _, client := range []*redlatch.Client{c, other} {
						go func() {
							next := check.Must(l.Of(client, "job").Lock(context.Background()))
							entered <- time.Since(began)
							_ = next.Unlock(context.Background())
						}()
					}
					time.Sleep(time.Second)
					check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
					check.Is(t, "Err", h.Err(), redlatch.ErrReleased)
					if st := c.Stats(); st.Holds != 0 {
						t.Errorf("%d holds are left", st.Holds)
					}
					check.Within(t, "the next enters after", <-entered, least, least+4*time.Second)
					<-entered
				})
			})
		}
	}
}

// Goal: whatever happens to the process, the lock stays. Method: the connection of a hold that was
// just acquired, or just released, is never used again.
func TestTheLeastTimeOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	for _, unlocked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			url := "memory://" + redistest.Name(t)
			other := fixture.Open(t, url, redlatch.Config{})
			d := &silenced{Driver: fixture.Raw(t, url)}
			c := check.Must(redlatch.New(d, fixture.Quiet(redlatch.Config{LeaseTime: 5 * time.Second})))
			h := check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithMinHold(time.Minute)))
			began := time.Now()
			if unlocked {
				check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
			} else {
				h.Detach() // as a death: nobody renews
			}
			next := check.Must(other.Mutex("job").Lock(t.Context()))
			check.Within(t, "the next enters after", time.Since(began), time.Minute, 63*time.Second)
			check.Is(t, "Unlock", errors.Join(next.Unlock(t.Context()), c.Close(t.Context())), nil)
		})
	}
}

func TestTheLeastTimeWithLostReplies(t *testing.T) {
	t.Parallel()
	for lost, want := range map[int64]error{1: nil, 3: nil, 1 << 40: redlatch.ErrUnknownOutcome} {
		synctest.Test(t, func(t *testing.T) {
			url := "memory://" + redistest.Name(t)
			d := &silenced{Driver: fixture.Raw(t, url)}
			c := fixture.OpenOn(t, d)
			h := check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithMinHold(10*time.Second)))
			began := time.Now()
			d.replies.Store(lost)
			check.Is(t, "Unlock", h.Unlock(t.Context()), want)
			d.replies.Store(0)
			next := check.Must(fixture.Open(t, url, redlatch.Config{}).Mutex("job").Lock(t.Context()))
			check.Within(t, "the next enters after", time.Since(began), 10*time.Second, 31*time.Second) // the lease, if Redis does not know the end
			check.Is(t, "Unlock", next.Unlock(t.Context()), nil)
		})
	}
}

// Once the least time is over, a release is like any other. Under re-entry the last release counts.
func TestALeastTimeThatIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		c, d := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url)
		ctx := c.WithOwner(t.Context())
		outer := check.Must(c.Mutex("job").Lock(ctx))
		inner := check.Must(c.Mutex("job").Lock(ctx, redlatch.WithMinHold(time.Minute)))
		check.Is(t, "Unlock", inner.Unlock(ctx), nil)
		time.Sleep(50 * time.Second)
		if !outer.Valid() {
			t.Errorf("the outer hold is %v", outer.Err())
		}
		check.Is(t, "Unlock", outer.Unlock(ctx), nil)
		check.Within(t, "the TTL", fixture.Do(t, d, "PTTL", "job").Int, 9_900, 10_100)
		time.Sleep(11 * time.Second)
		late := check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithMinHold(time.Second)))
		time.Sleep(2 * time.Second)
		check.Is(t, "Unlock", late.Unlock(t.Context()), nil)
		if fixture.Do(t, d, "EXISTS", "job").Int != 0 {
			t.Error("the lock stays after its least time")
		}
	})
}

// Close keeps the promise, and a hold that nobody got has none to keep.
func TestTheLeastTimeAndTheEndOfAClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		d := fixture.Raw(t, url)
		c := check.Must(redlatch.Open(t.Context(), url, fixture.Quiet(redlatch.Config{})))
		_ = check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithMinHold(10*time.Second)))
		_, err := c.Mutex("few").Lock(t.Context(), redlatch.WithMinHold(10*time.Second), redlatch.WithReplicas(1, time.Second))
		if err == nil || fixture.Do(t, d, "EXISTS", "few").Int != 0 {
			t.Errorf("after %v the lock stays", err)
		}
		check.Is(t, "Close", c.Close(t.Context()), nil)
		check.Within(t, "the TTL", fixture.Do(t, d, "PTTL", "job").Int, 9_000, 10_100)
	})
}

func TestWithMinHoldIsRefusedWhereItMakesNoSense(t *testing.T) {
	t.Parallel()
	c := fixture.Open(t, "memory://", redlatch.Config{})
	least := redlatch.WithMinHold(time.Minute)
	for what, take := range map[string]func() (*redlatch.Hold, error){
		"read":  func() (*redlatch.Hold, error) { return c.RWMutex("a").RLock(t.Context(), least) },
		"write": func() (*redlatch.Hold, error) { return c.RWMutex("a").Lock(t.Context(), least) },
		"multi": func() (*redlatch.Hold, error) {
			return check.Must(redlatch.NewMulti(c.Mutex("a"))).Lock(t.Context(), least)
		},
		"quorum": func() (*redlatch.Hold, error) {
			return check.Must(redlatch.NewQuorum(c.Mutex("a"))).Lock(t.Context(), least)
		},
		"cohort": func() (*redlatch.Hold, error) {
			return c.Mutex("a").Lock(t.Context(), least, redlatch.WithCohort(time.Second))
		},
		"lease": func() (*redlatch.Hold, error) {
			return c.Mutex("a").Lock(t.Context(), least, redlatch.WithLease(time.Second))
		},
		"max hold": func() (*redlatch.Hold, error) {
			return c.Mutex("a").Lock(t.Context(), least, redlatch.WithMaxHold(time.Second))
		},
		"short": func() (*redlatch.Hold, error) { return c.Mutex("a").Lock(t.Context(), redlatch.WithMinHold(1)) },
	} {
		h, err := take()
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "WithMinHold" {
			t.Errorf("%s: the hold is %v, the error %v", what, h, err)
		}
	}
}
