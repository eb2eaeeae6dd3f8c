package leases_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Two releases of one owner are under way, and Redis refuses one of them.

// Goal: a release that is refused because the lock is gone is a loss, also if an earlier release is answered meanwhile. Method: the
// lock is forced between the two, and somebody else has it.
func TestAnAnswerToAnEarlierReleaseHidesNoLoss(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.Mutex("job")
		one, two, left := holdForAnHour(ctx, l), holdForAnHour(ctx, l), holdForAnHour(ctx, l)
		check.Is(t, "Unlock", holdForAnHour(ctx, l).Unlock(ctx), nil) // the server knows the script
		var sent atomic.Int64
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			delay := 1800 * time.Millisecond
			if sent.Add(1) > 1 {
				delay = 500 * time.Millisecond
			}
			return tardy(false, delay, everything)(commands, send)
		})
		done := make(chan error, 1)
		go func() { done <- one.Unlock(ctx) }()
		synctest.Wait()
		s.Memory.Miniredis().Del("job")
		other := check.Must(s.Stranger().Mutex("job").Lock(context.Background()))
		check.Is(t, "Unlock", two.Unlock(ctx), redlatch.ErrLost)
		check.Is(t, "what is left", left.Err(), redlatch.ErrLost)
		check.Is(t, "the Unlock before", <-done, nil)
		check.Is(t, "Unlock", other.Unlock(context.Background()), nil)
	})
}

// Goal: a release of a mutex is refused only if the lock is gone, also behind a later one. Method: the later one is refused as well.
func TestTwoRefusedReleasesAreBothLosses(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.Mutex("job")
		one, two, left := holdForAnHour(ctx, l), holdForAnHour(ctx, l), holdForAnHour(ctx, l)
		s.Memory.Miniredis().FlushAll()
		var sent atomic.Int64
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if sent.Add(1) == 1 {
				time.Sleep(2 * time.Second)
			}
			return send(commands...)
		})
		done := make(chan error, 1)
		go func() { done <- one.Unlock(ctx) }()
		synctest.Wait()
		check.Is(t, "the later Unlock", two.Unlock(ctx), redlatch.ErrLost)
		check.Is(t, "the earlier one", <-done, redlatch.ErrLost)
		check.Is(t, "what is left", left.Err(), redlatch.ErrLost)
	})
}

// Goal: a release that is refused because a later one has overtaken it is no loss, unless the lock is gone. Method: the one waits on
// its way until the other, that of the last write hold, has been carried out, and answered, or not yet. Then the lock is
// forced, or is not.
func TestAnOvertakenReleaseIsALossIfTheLockIsGone(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		for what, want := range map[string]error{"held": nil, "gone": redlatch.ErrLost} {
			t.Run(fmt.Sprintf("%s, late answer %t", what, late), func(t *testing.T) {
				stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
					tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.RWMutex("job")
					one, two, left := holdForAnHour(ctx, l), holdForAnHour(ctx, l), holdForAnHour(ctx, l.RLocker())
					check.Is(t, "Unlock", holdForAnHour(ctx, l.RLocker()).Unlock(ctx), nil) // the server knows the script
					var sent atomic.Int64
					tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
						switch n := sent.Add(1); {
						case n == 1:
							time.Sleep(2 * time.Second)
						case n == 2 && late:
							return tardy(false, time.Second, everything)(commands, send)
						}
						return send(commands...)
					})
					ended := make(chan error, 1)
					go func() { ended <- s.Client.Shutdown(context.Background()) }() // it waits for the holds
					first, second := make(chan error, 1), make(chan error, 1)
					go func() { first <- two.Unlock(ctx) }()
					synctest.Wait()
					go func() { second <- one.Unlock(ctx) }()
					time.Sleep(1900 * time.Millisecond)
					if want != nil {
						s.Memory.Miniredis().FlushAll()
					}
					check.Is(t, "the Unlock that was overtaken", <-first, nil)
					check.Is(t, "the Unlock that overtook it", <-second, nil)
					time.Sleep(time.Second)
					check.Is(t, "what is left", left.Err(), want)
					check.Is(t, "its Unlock", left.Unlock(ctx), want)
					check.Is(t, "Shutdown", <-ended, nil)
				})
			})
		}
	}
}

// Goal: a Detach, which sends nothing, explains no refusal of a release that is under way.
func TestADetachOvertakesNoRelease(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.Mutex("job")
		one, two := holdForAnHour(ctx, l), holdForAnHour(ctx, l)
		s.Memory.Miniredis().FlushAll()
		tap.Set(tardy(false, time.Second, everything))
		done := make(chan error, 1)
		go func() { done <- one.Unlock(ctx) }()
		synctest.Wait()
		two.Detach()
		check.Is(t, "Unlock", <-done, redlatch.ErrLost)
	})
}

// holdForAnHour takes a lock that is not renewed.
func holdForAnHour(ctx context.Context, l redlatch.Lock) *redlatch.Hold {
	return check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour)))
}
