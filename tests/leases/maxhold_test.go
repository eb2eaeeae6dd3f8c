package leases_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
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
		var config *redlatch.ConfigError
		if !errors.As(err, &config) || config.Field != "WithMaxHold" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestOnlyALeaseThatAWatchdogCanSaveMayBeProtected(t *testing.T) {
	t.Parallel()
	_, err := redlatch.Open(t.Context(), "memory://", redlatch.Config{Protect: true, LeaseTime: 999 * time.Millisecond})
	var config *redlatch.ConfigError
	if !errors.As(err, &config) || config.Field != "LeaseTime" {
		t.Errorf("the error is %v", err)
	}
}
