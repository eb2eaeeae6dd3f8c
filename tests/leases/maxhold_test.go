package leases_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a hold with an end is renewed up to it, is lost before it, and its key does not
// outlive it. Method: look at the key all the time.
func TestAHoldWithAnEndIsNeverRenewedBeyondIt(t *testing.T) {
	t.Parallel()
	for _, most := range []time.Duration{5 * time.Second, 30 * time.Second, 31 * time.Second, 70 * time.Second, 5 * time.Minute} {
		for what, opts := range map[string][]redlatch.LockOption{
			"renewed": {redlatch.WithMaxHold(most)},
			"fixed":   {redlatch.WithLease(time.Hour), redlatch.WithMaxHold(most)},
		} {
			for _, protect := range []bool{false, true} {
				stage.Story(t, redlatch.Config{Protect: protect}, func(t *testing.T, s *stage.Stage) {
					began := time.Now()
					h := check.Must(s.Client.Mutex("job").Lock(t.Context(), opts...))
					for h.Valid() {
						if left := s.TTL("job"); time.Since(began)+left > most+time.Millisecond {
							t.Fatalf("%s, %v: after %v the key has %v left", what, most, time.Since(began), left)
						}
						time.Sleep(100 * time.Millisecond)
						synctest.Wait()
					}
					check.Within(t, what+": time held", time.Since(began), most-most/50-time.Second/2, most)
					check.Is(t, "Err", h.Err(), redlatch.ErrLost)
					check.Is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
					time.Sleep(time.Until(began.Add(most)) + 2*time.Millisecond)
					if s.Memory.Miniredis().Exists("job") {
						t.Errorf("%s, %v: the key outlives the hold", what, most)
					}
				})
			}
		}
	}
}

// Goal: Config.MaxHold ends what nobody releases, of every kind, and nothing that has a time of its own.
func TestTheClientsMaximumEndsForgottenHolds(t *testing.T) {
	t.Parallel()
	const most = 5 * time.Minute
	for _, c := range []struct {
		what string
		of   func(c *redlatch.Client, name string) redlatch.Lock
		opts []redlatch.LockOption
		held time.Duration
	}{
		{"mutex", stage.MutexOf, nil, most},
		{"fair", stage.FairOf, nil, most},
		{"write", stage.WriteOf, nil, most},
		{"read", stage.ReadOf, nil, most},
		{"multi", stage.MultiOf, nil, most},
		{"permit", stage.PermitOf, nil, most},
		{"fenced", stage.MutexOf, []redlatch.LockOption{redlatch.WithFencing()}, most},
		{"with a shorter maximum", stage.MutexOf, []redlatch.LockOption{redlatch.WithMaxHold(time.Minute)}, time.Minute},
		{"with a longer maximum", stage.MutexOf, []redlatch.LockOption{redlatch.WithMaxHold(time.Hour)}, time.Hour},
		{"with a lease", stage.MutexOf, []redlatch.LockOption{redlatch.WithLease(time.Hour)}, time.Hour},
		{"with a longer minimum", stage.MutexOf, []redlatch.LockOption{redlatch.WithMinHold(time.Hour)}, time.Hour},
		{"cohort", stage.MutexOf, []redlatch.LockOption{redlatch.WithCohort(time.Second)}, endless},
	} {
		stage.Story(t, redlatch.Config{MaxHold: most}, func(t *testing.T, s *stage.Stage) {
			if c.what == "permit" {
				check.Must(s.Client.PermitSemaphore("job").TrySetPermits(t.Context(), 1))
			}
			h := heldFor(t, c.what, c.of(s.Client, "job"), c.held, c.opts...)
			_ = h.Unlock(t.Context())
			check.Must(c.of(s.Stranger(), "job").Lock(t.Context(), redlatch.WithWait(time.Minute)))
		})
	}
}

// Goal: of several clients' maxima the shortest one ends the whole.
func TestTheShortestMaximumEndsAMultiAndAQuorum(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, _ context.Context) {
		var multi, quorum []redlatch.Lock
		for _, most := range []time.Duration{0, time.Hour, time.Minute} {
			c := redlatchtest.NewServer(t).Client(redlatch.Config{MaxHold: most})
			multi, quorum = append(multi, c.Mutex("m")), append(quorum, c.Mutex("q"))
		}
		for _, l := range []redlatch.Lock{check.Must(redlatch.NewMulti(multi...)), check.Must(redlatch.NewQuorum(quorum...))} {
			h := heldFor(t, l.Name(), l, time.Minute)
			check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		}
	})
}

// heldFor takes a lock, and fails if the hold does not end by itself about then.
func heldFor(t *testing.T, what string, l redlatch.Lock, want time.Duration, opts ...redlatch.LockOption) *redlatch.Hold {
	t.Helper()
	began := time.Now()
	h := check.Must(l.Lock(t.Context(), opts...))
	select {
	case <-h.Done():
	case <-time.After(endless):
	}
	check.Within(t, what+": time held", time.Since(began), want-want/20, want)
	return h
}

// endless is longer than all times in these tests.
const endless = 2 * time.Hour

func TestTheEndsOfOneOwnersHoldsAreOne(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Client.WithOwner(t.Context()), s.Client.Mutex("job")
		began := time.Now()
		first := check.Must(m.Lock(ctx, redlatch.WithMaxHold(40*time.Second)))
		longer := check.Must(m.Lock(ctx, redlatch.WithMaxHold(80*time.Second)))
		time.Sleep(60 * time.Second)
		if !first.Valid() || !longer.Valid() {
			t.Fatal("they ended with the first:", first.Err(), longer.Err())
		}
		<-longer.Done()
		check.Within(t, "time held", time.Since(began), 79*time.Second, 80*time.Second)

		began = time.Now()
		first = check.Must(m.Lock(ctx, redlatch.WithMaxHold(40*time.Second)))
		endless := check.Must(m.Lock(ctx))
		time.Sleep(2 * time.Minute)
		if !first.Valid() || !endless.Valid() {
			t.Fatal("they ended though one has no end:", first.Err(), endless.Err())
		}
		// The one that is left is over already.
		_ = endless.Unlock(ctx)
		<-first.Done()
		check.Within(t, "time held", time.Since(began), 2*time.Minute, 2*time.Minute+time.Second)
		check.Is(t, "Err", first.Err(), redlatch.ErrLost)
	})
}

// Goal: a forgotten hold with a lease does not have its outer hold renewed beyond the limit of that, and lasts as long as it
// asked for. Method: the lease ends before the limit, behind it, and behind it by Extend.
func TestALeaseInsideALimitIsNotRenewedBeyondThat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lease, extended, from, to time.Duration }{
		{10 * time.Second, 0, 69 * time.Second, 70 * time.Second},
		{100 * time.Second, 0, 118 * time.Second, 120 * time.Second},
		{10 * time.Second, 200 * time.Second, 217 * time.Second, 220 * time.Second},
	} {
		stage.EachKind(t, redlatch.Config{MaxHold: 70 * time.Second}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
			ctx, l, began := s.Client.WithOwner(context.Background()), k.Lock(s.Client, "job"), time.Now()
			outer := check.Must(l.Lock(ctx))
			time.Sleep(20 * time.Second)
			inner := check.Must(l.Lock(ctx, redlatch.WithLease(c.lease)))
			if c.extended > 0 {
				check.Is(t, "Extend", inner.Extend(ctx, c.extended), nil)
			}
			next := check.Must(k.Rival(s.Stranger(), "job").Lock(ctx, redlatch.WithWait(time.Hour)))
			check.Within(t, fmt.Sprintf("%+v: the next one enters after", c), time.Since(began), c.from, c.to+2*time.Second)
			check.Is(t, "Err", outer.Err(), redlatch.ErrLost)
			check.Is(t, "Err", inner.Err(), redlatch.ErrLost)
			check.Is(t, "Unlock", next.Unlock(ctx), nil)
		})
	}
}

// Goal: a limit that comes to a lease, or has passed, ends no hold before its lease. Method: an inner hold with a limit, and the
// release of another hold behind a limit.
func TestALimitEndsNoLeaseOfItsOwner(t *testing.T) {
	t.Parallel()
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		ctx, l := s.Client.WithOwner(context.Background()), k.Lock(s.Client, "job")
		leased := check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute)))
		check.Is(t, "Extend", leased.Extend(ctx, time.Hour), nil)
		end := leased.Deadline()
		limited := check.Must(l.Lock(ctx, redlatch.WithMaxHold(10*time.Second)))
		other := check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute)))
		time.Sleep(20 * time.Second)
		check.Is(t, "Unlock", other.Unlock(ctx), nil)
		if !leased.Valid() || !limited.Valid() || leased.Deadline().Before(end) {
			t.Errorf("%v, %v, until %v, not %v", leased.Err(), limited.Err(), leased.Deadline(), end)
		}
		<-leased.Done()
		check.Within(t, "the end is off by", time.Since(end).Abs(), 0, time.Minute)
	})
}

// Re-entry and a release in between set the lease anew, which must not reach beyond the end.
func TestNoHoldOfAnOwnerMovesTheEndOfAnother(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Client.WithOwner(t.Context()), s.Client.Mutex("job")
		end := time.Now().Add(40 * time.Second)
		outer := check.Must(m.Lock(ctx, redlatch.WithMaxHold(40*time.Second)))
		for range 3 {
			time.Sleep(12 * time.Second)
			inner := check.Must(m.Lock(ctx, redlatch.WithMaxHold(time.Second)))
			check.Within(t, "TTL after re-entry", s.TTL("job"), 0, time.Until(end))
			_ = inner.Unlock(ctx)
			check.Within(t, "TTL after the inner release", s.TTL("job"), 0, time.Until(end))
		}
		<-outer.Done()
		check.Within(t, "left when it was lost", time.Until(end), 0, time.Second)
	})
}

func TestAnEndMustBeAsLongAsALease(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		_, err := s.Client.Mutex("job").Lock(t.Context(), redlatch.WithMaxHold(time.Millisecond))
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "WithMaxHold" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestOnlyALeaseThatAWatchdogCanSaveMayBeProtected(t *testing.T) {
	t.Parallel()
	_, err := redlatch.Open(t.Context(), "memory://", redlatch.Config{Protect: true, LeaseTime: 999 * time.Millisecond})
	if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "LeaseTime" {
		t.Errorf("the error is %v", err)
	}
}
