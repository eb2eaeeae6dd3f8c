package leases_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What a client ends, it ends in Redis, whatever was under way.

// anHour says that a request asks for a lease of an hour.
var anHour = asks("3600000")

// asks matches requests for a lease of so many milliseconds.
func asks(lease string) func(words []string) bool {
	return func(words []string) bool { return slices.Contains(words, lease) }
}

// slowly carries out every command a second later.
var slowly = map[string]stage.Around{"answered": tardy(true, time.Second, everything), "unanswered": unanswered(time.Second, everything)}

func everything([]string) bool { return true }

// unanswered carries out matching commands after a while, and answers none of them.
func unanswered(delay time.Duration, match func(words []string) bool) stage.Around {
	return func(commands []driver.Command, send stage.Sender) []driver.Reply {
		if !slices.ContainsFunc(commands, func(c driver.Command) bool { return match(c.Words) }) {
			return send(commands...)
		}
		time.Sleep(delay)
		send(commands...)
		return stage.FailAll(commands, stage.ErrCut)
	}
}

// Goal: Close waits for the end of a hold by its limit.
func TestCloseWaitsForTheEndOfAHoldByItsLimit(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap := s.Tap()
		ctx := s.Client.WithOwner(context.Background())
		outer := check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithMaxHold(70*time.Second)))
		inner := check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
		check.Is(t, "Unlock", inner.Unlock(ctx), nil)
		tap.Set(slowly["answered"])
		<-outer.Done()
		check.Is(t, "Close", s.Client.Close(context.Background()), nil)
		if left := s.TTL("job"); left > 0 {
			t.Errorf("behind Close the lock stays for %v", left)
		}
	})
}

// Goal: an extension that is never answered keeps the lock no longer than the hold. Method: the hold is
// lost when its lease is over, before the extension is given up or after it.
func TestAnExtensionWithoutAnAnswerEndsWithItsHold(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			tap, began := s.Tap(), time.Now()
			h := check.Must(s.Client.Mutex("job").Lock(context.Background(), redlatch.WithLease(time.Minute)))
			check.Is(t, "Extend", h.Extend(context.Background(), time.Minute), nil) // the server knows the script
			if late {
				time.Sleep(time.Until(h.Deadline()) - time.Second)
			}
			tap.Set(unanswered(0, anHour))
			check.Is(t, "Extend", h.Extend(context.Background(), time.Hour), redlatch.ErrUnknownOutcome)
			if !late {
				check.Within(t, "the TTL", s.TTL("job"), 58*time.Minute, time.Hour)
			}
			next := check.Must(s.Stranger().Mutex("job").Lock(context.Background()))
			check.Within(t, "the next enters after", time.Since(began), 59*time.Second, 64*time.Second)
			check.Is(t, "Unlock", next.Unlock(context.Background()), nil)
		})
	}
}

// Goal: a re-entry that is never answered keeps the lock no longer than the hold.
func TestAReentryWithoutAnAnswerEndsWithTheOuterHold(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap, began := s.Tap(), time.Now()
		ctx := s.Client.WithOwner(context.Background())
		_ = check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithLease(time.Minute)))
		tap.Set(unanswered(0, anHour))
		_, err := s.Client.Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour))
		check.Is(t, "the re-entry", err, redlatch.ErrUnknownOutcome)
		next := check.Must(s.Stranger().Mutex("job").Lock(context.Background()))
		check.Within(t, "the next enters after", time.Since(began), 59*time.Second, 61*time.Second)
		check.Is(t, "Unlock", next.Unlock(context.Background()), nil)
	})
}

// Goal: the same if a repetition of the re-entry is refused.
func TestAReentryWhoseRepetitionIsRefusedEndsWithTheOuterHold(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap, began := s.Tap(), time.Now()
		ctx := s.Client.WithOwner(context.Background())
		_ = check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithLease(time.Minute)))
		var asked atomic.Int64
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if !anHour(commands[0].Words) {
				return send(commands...)
			}
			if asked.Add(1) > 1 {
				return stage.FailAll(commands, &driver.ServerError{Message: "OOM command not allowed"})
			}
			send(commands...)
			return stage.FailAll(commands, stage.ErrCut)
		})
		if _, err := s.Client.Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)); err == nil || asked.Load() != 2 {
			t.Fatalf("after %d requests the re-entry is %v", asked.Load(), err)
		}
		next := check.Must(s.Stranger().Mutex("job").Lock(context.Background()))
		check.Within(t, "the next enters after", time.Since(began), 59*time.Second, 61*time.Second)
		check.Is(t, "Unlock", next.Unlock(context.Background()), nil)
	})
}

// Goal: a release that says what is left keeps the lock no longer than that. Method: it arrives behind the end of the outer
// hold, and asks for the whole lease of that.
func TestALateReleaseOfAnInnerHoldLeavesNothing(t *testing.T) {
	t.Parallel()
	for what, slow := range slowly {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.Mutex("job")
				outer := check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour)))
				inner := check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute)))
				check.Is(t, "Unlock", check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute))).Unlock(ctx), nil) // the server knows the script
				time.Sleep(time.Until(outer.Deadline()) - 200*time.Millisecond)
				tap.Set(slow)
				_ = inner.Unlock(ctx)
				tap.Set(nil)
				began := time.Now()
				next := check.Must(s.Stranger().Mutex("job").Lock(context.Background()))
				check.Within(t, "the next enters after", time.Since(began), 0, 10*time.Second)
				check.Is(t, "the outer hold", outer.Err(), redlatch.ErrLost)
				check.Is(t, "Unlock", next.Unlock(context.Background()), nil)
			})
		})
	}
}

// Goal: a release whose answer comes after the last hold was detached leaves the lock alone, also if another hold was over by then.
func TestALateReleaseFreesNoDetachedLock(t *testing.T) {
	t.Parallel()
	for what, slow := range slowly {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.Mutex("job")
				detached := check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour)))
				check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour), redlatch.WithMaxHold(20*time.Second)))
				released := check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour)))
				time.Sleep(25 * time.Second)
				tap.Set(slow)
				done := make(chan error, 1)
				go func() { done <- released.Unlock(ctx) }()
				synctest.Wait()
				detached.Detach()
				<-done
				tap.Set(nil)
				time.Sleep(10 * time.Second)
				check.Within(t, "the TTL", s.TTL("job"), 59*time.Minute, time.Hour)
			})
		})
	}
}

// Goal: no extension behind an Unlock with a minimum time prolongs anything, whenever it is answered.
func TestAnExtensionFindsNothingThatStaysForItsMinimumTime(t *testing.T) {
	t.Parallel()
	for what, around := range map[string]stage.Around{
		"answered after the minimum time": func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if !slices.ContainsFunc(commands, func(c driver.Command) bool { return anHour(c.Words) }) {
				return send(commands...)
			}
			time.Sleep(time.Second)
			replies := send(commands...)
			time.Sleep(20 * time.Second)
			return replies
		},
		"never answered": unanswered(time.Second, anHour),
	} {
		for _, kind := range leastKinds {
			t.Run(kind+"/"+what, func(t *testing.T) {
				stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
					l, tap := stage.Ways[kind], s.Tap()
					h := check.Must(l.Of(s.Client, "job").Lock(context.Background(), append(l.Opts, redlatch.WithLease(time.Minute), redlatch.WithMinHold(2*time.Second))...))
					check.Is(t, "Extend", h.Extend(context.Background(), time.Minute), nil) // the server knows the script
					tap.Set(around)
					extended := make(chan error, 1)
					go func() { extended <- h.Extend(context.Background(), time.Hour) }()
					synctest.Wait()
					began := time.Now()
					check.Is(t, "Unlock", h.Unlock(context.Background()), nil)
					next := check.Must(l.Of(s.Stranger(), "job").Lock(context.Background()))
					check.Within(t, "the next enters after", time.Since(began), 2*time.Second, 7*time.Second)
					if err := <-extended; err == nil {
						t.Error("a hold that was released has been extended")
					}
					if err := next.Err(); err != nil {
						t.Error("the next hold is", err)
					}
					check.Is(t, "Unlock", next.Unlock(context.Background()), nil)
				})
			})
		}
	}
}

// Goal: Status shows who holds a lock for the rest of its minimum time, and that owner can be forced.
func TestALockThatStaysHasAnOwnerThatCanBeForced(t *testing.T) {
	t.Parallel()
	for _, kind := range leastKinds {
		t.Run(kind, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				l := stage.Ways[kind]
				h := check.Must(l.Of(s.Client, "job").Lock(context.Background(), append(l.Opts, redlatch.WithMinHold(time.Minute))...))
				check.Is(t, "Unlock", h.Unlock(context.Background()), nil)
				m := s.Stranger().Mutex("job")
				st := check.Must(m.Status(context.Background()))
				if len(st.Holders) != 1 || st.Holders[0].Count != 1 || st.Holders[0].Name == "" {
					t.Fatalf("the status is %+v", st)
				}
				if forced, err := m.ForceUnlockIf(context.Background(), h.Owner()); forced || err != nil {
					t.Errorf("an owner that has released the lock was forced: %v, %v", forced, err)
				}
				if forced, err := m.ForceUnlockIf(context.Background(), st.Holders[0].Owner); !forced || err != nil {
					t.Errorf("the owner of the rest was not forced: %v, %v", forced, err)
				}
				check.Is(t, "Unlock", check.Must(m.TryLock(context.Background())).Unlock(context.Background()), nil)
			})
		})
	}
}
