package leases_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A TTL in Redis does not fall beneath a hold that was told of a longer one.

// thenCutOff lets the next request meet its fate, and loses all that follow.
func thenCutOff(next stage.Fate) func([]string) stage.Fate {
	first := stage.Once(next)
	return func(words []string) stage.Fate {
		if first(words) == next {
			return next
		}
		return stage.Lost
	}
}

func TestAnInnerReleaseWhoseReplyIsLostLeavesTheOuterHoldAlone(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redlatch.LockOption{
		"renewed": nil,
		"fixed":   {redlatch.WithLease(30 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
				ctx, l := s.Client.WithOwner(s.Limited()), k.Lock(s.Client, "job")
				outer := check.Must(l.Lock(ctx, opts...))
				inner := check.Must(l.Lock(ctx, redlatch.WithLease(2*time.Minute)))
				s.Driver.Spoil(thenCutOff(stage.AnswerLost))
				defer s.Driver.Spoil(nil)
				check.Is(t, "Unlock", inner.Unlock(ctx), redlatch.ErrUnknownOutcome)
				s.WantAlone(outer, k)
			})
		})
	}
}

// The reply to the inner release takes ten milliseconds. Until it is there, the outer hold
// is as long as the inner one was.
func TestAnInnerReleaseBehindTheEndOfTheOuterHoldLeavesItItsKey(t *testing.T) {
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		ctx, l, net := s.Client.WithOwner(s.Limited()), k.Lock(s.Client, "job"), s.Tap()
		rival := k.Rival(s.Stranger(), "job")
		outer := check.Must(l.Lock(ctx, redlatch.WithMaxHold(40*time.Second)))
		inner := check.Must(l.Lock(ctx, redlatch.WithMaxHold(80*time.Second)))
		time.Sleep(60 * time.Second)
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			replies := send(commands...)
			time.Sleep(10 * time.Millisecond)
			if h, err := rival.TryLock(context.Background()); err == nil {
				if outer.Valid() {
					t.Error("a stranger has the lock, and the outer hold is valid")
				}
				_ = h.Unlock(context.Background())
			}
			return replies
		})
		_ = inner.Unlock(ctx)
		net.Set(nil)
		_ = outer.Unlock(ctx)
	})
}

// The write side is renewed beneath an inner read hold that lasts longer, and then ends
// without a release.
func TestARenewalOfTheWriteSideDoesNotShortenAnInnerReadHold(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Client.WithOwner(s.Limited()), s.Client.RWMutex("job")
		w := check.Must(m.Lock(ctx))
		r := check.Must(m.RLock(ctx, redlatch.WithLease(5*time.Minute)))
		time.Sleep(11 * time.Second) // the write side has been renewed
		w.Detach()
		s.WantAlone(r, stage.Kind{Rival: stage.WriteOf})
	})
}

// Each re-entry confirms the lock as a whole, and puts the next renewal off.
func TestEveryReadHoldThatIsValidHasItsTimeoutKey(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Client.WithOwner(s.Limited()), s.Client.RWMutex("job")
		began := time.Now()
		var holds []*redlatch.Hold
		for range 24 {
			holds = append(holds, check.Must(m.RLock(ctx)))
			time.Sleep(5 * time.Second)
			valid := 0
			for _, h := range holds {
				if h.Valid() {
					valid++
				}
			}
			for i := range valid {
				key := fmt.Sprintf("{job}:%s:rwlock_timeout:%d", holds[0].Owner(), i+1)
				if !s.Memory.Miniredis().Exists(key) {
					t.Fatalf("after %v, of %d valid holds number %d has no timeout key", time.Since(began), valid, i+1)
				}
			}
		}
		if !holds[0].Valid() {
			t.Error("the first hold was lost:", holds[0].Err())
		}
	})
}

// A write hold with a short lease lives as long as the read hold inside it: they are one grant.
func TestALockIsFreeAfterTheLastUnlockOfEitherSide(t *testing.T) {
	for _, writeLast := range []bool{false, true} {
		t.Run(fmt.Sprint("the write hold is unlocked last: ", writeLast), func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				ctx, m := s.Client.WithOwner(s.Limited()), s.Client.RWMutex("job")
				holds := []*redlatch.Hold{check.Must(m.Lock(ctx, redlatch.WithLease(5*time.Second))), check.Must(m.RLock(ctx))}
				time.Sleep(time.Minute)
				if writeLast {
					holds[0], holds[1] = holds[1], holds[0]
				}
				for _, h := range holds {
					if err := h.Unlock(ctx); err != nil {
						t.Error("Unlock:", err)
					}
				}
				next, err := s.Stranger().RWMutex("job").TryLock(s.Limited())
				if err != nil {
					t.Fatalf("nobody holds the lock, and it is not free for %v: %v", s.TTL("job"), err)
				}
				_ = next.Unlock(s.Limited())
			})
		})
	}
}

// A reader inside a write hold has a timeout key with the lease of the reader alone. The
// trust of the write hold is taken over by the grant, and is longer.
func TestAShortReadInsideALongWriteIsNotTrustedBeyondItsTimeoutKey(t *testing.T) {
	for what, opts := range map[string][2][]redlatch.LockOption{
		"renewed write, fixed read": {nil, {redlatch.WithLease(5 * time.Second)}},
		"fixed write, fixed read":   {{redlatch.WithLease(time.Minute)}, {redlatch.WithLease(5 * time.Second)}},
		"fixed write, read with an end": {{redlatch.WithLease(time.Minute)},
			{redlatch.WithLease(5 * time.Second), redlatch.WithMaxHold(50 * time.Second)}},
	} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				ctx, m := s.Client.WithOwner(s.Limited()), s.Client.RWMutex("job")
				w := check.Must(m.Lock(ctx, opts[0]...))
				r := check.Must(m.RLock(ctx, opts[1]...))
				if err := w.Unlock(ctx); err != nil {
					t.Fatal(err)
				}
				s.WantAlone(r, stage.LockKinds[3])
			})
		})
	}
}

// The same with a reader that is renewed, in an outage.
func TestARenewedReadInsideALongWriteIsNotTrustedBeyondItsTimeoutKey(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Client.WithOwner(s.Limited()), s.Client.RWMutex("job")
		w := check.Must(m.Lock(ctx, redlatch.WithLease(5*time.Minute)))
		r := check.Must(m.RLock(ctx))
		if err := w.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		s.Driver.Spoil(func([]string) stage.Fate { return stage.Lost })
		defer s.Driver.Spoil(nil)
		s.WantAlone(r, stage.LockKinds[3])
	})
}
