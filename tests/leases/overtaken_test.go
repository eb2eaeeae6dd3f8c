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

// Goal: two releases that are refused because the lock is gone are both losses. Method: the later one leaves a write hold, or read
// holds, or nothing.
func TestTwoRefusedReleasesAreBothLosses(t *testing.T) {
	t.Parallel()
	for what, rest := range map[string]func(l *redlatch.RWMutex) redlatch.Lock{
		"write":   func(l *redlatch.RWMutex) redlatch.Lock { return l },
		"read":    func(l *redlatch.RWMutex) redlatch.Lock { return l.RLocker() },
		"nothing": nil,
	} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.RWMutex("job")
				one, two := holdForAnHour(ctx, l), holdForAnHour(ctx, l)
				left := two
				if rest != nil {
					left = holdForAnHour(ctx, rest(l))
				}
				s.Memory.Miniredis().FlushAll()
				tap.Set(lateAtFirst())
				done := make(chan error, 1)
				go func() { done <- one.Unlock(ctx) }()
				synctest.Wait()
				check.Is(t, "the later Unlock", two.Unlock(ctx), redlatch.ErrLost)
				check.Is(t, "the earlier one", <-done, redlatch.ErrLost)
				if left != two {
					check.Is(t, "what is left", left.Err(), redlatch.ErrLost)
				}
			})
		})
	}
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

// Goal: a Detach, which sends nothing, explains no refusal of a release that is under way. Method: it ends the last hold, or the last
// of the write side.
func TestADetachOvertakesNoRelease(t *testing.T) {
	t.Parallel()
	for _, reads := range []bool{false, true} {
		t.Run(fmt.Sprintf("reads on %t", reads), func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.RWMutex("job")
				one, two := holdForAnHour(ctx, l), holdForAnHour(ctx, l)
				var left *redlatch.Hold
				if reads {
					left = holdForAnHour(ctx, l.RLocker())
				}
				s.Memory.Miniredis().FlushAll()
				tap.Set(tardy(false, time.Second, everything))
				done := make(chan error, 1)
				go func() { done <- one.Unlock(ctx) }()
				synctest.Wait()
				two.Detach()
				check.Is(t, "Unlock", <-done, redlatch.ErrLost)
				if reads {
					check.Is(t, "what is left", left.Err(), redlatch.ErrLost)
				}
			})
		})
	}
}

// Goal: a release that a later one has overtaken is no loss, also if nothing is left of the owner when it arrives. Method: the later
// one is that of the write side, and then the last hold is detached; or the outer hold has ended by its limit, which
// tells Redis.
func TestAnOvertakenReleaseIsNoLossIfNothingIsLeft(t *testing.T) {
	t.Parallel()
	for what, overtake := range map[string]func(t *testing.T, ctx context.Context, l *redlatch.RWMutex, under func(*redlatch.Hold) error) error{
		"detached": func(t *testing.T, ctx context.Context, l *redlatch.RWMutex, under func(*redlatch.Hold) error) error {
			write, one, two := holdForAnHour(ctx, l), holdForAnHour(ctx, l.RLocker()), holdForAnHour(ctx, l.RLocker())
			time.AfterFunc(time.Millisecond, func() {
				check.Is(t, "the Unlock that overtook it", write.Unlock(ctx), nil)
				two.Detach()
			})
			return under(one)
		},
		"limit": func(_ *testing.T, ctx context.Context, l *redlatch.RWMutex, under func(*redlatch.Hold) error) error {
			check.Must(l.Lock(ctx, redlatch.WithMaxHold(10*time.Second)))
			inner := holdForAnHour(ctx, l)
			time.Sleep(9 * time.Second)
			return under(inner)
		},
	} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.RWMutex("job")
				overtaken := false // when the last request leaves
				check.Is(t, "overtaken Unlock", overtake(t, ctx, l, func(h *redlatch.Hold) error {
					late := lateAtFirst()
					tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
						return late(commands, func(commands ...driver.Command) []driver.Reply {
							overtaken = s.Memory.Miniredis().HGet("job", "mode") != "write"
							return send(commands...)
						})
					})
					return h.Unlock(ctx)
				}), nil)
				if !overtaken {
					t.Error("the write side was there")
				}
			})
		})
	}
}

// lateAtFirst has the first request wait on its way until a release of its owner has overtaken it.
func lateAtFirst() stage.Around {
	var sent atomic.Int64
	return func(commands []driver.Command, send stage.Sender) []driver.Reply {
		if sent.Add(1) == 1 {
			time.Sleep(2 * time.Second)
		}
		return send(commands...)
	}
}

// holdForAnHour takes a lock that is not renewed.
func holdForAnHour(ctx context.Context, l redlatch.Lock) *redlatch.Hold {
	return check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour)))
}
