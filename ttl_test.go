package redlatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// A TTL in Redis does not fall beneath a hold that was told of a longer one.

// thenCutOff lets the next request meet its fate, and loses all that follow.
func thenCutOff(next fate) func([]string) fate {
	first := once(next)
	return func(words []string) fate {
		if first(words) == next {
			return next
		}
		return isLost
	}
}

func TestAnInnerReleaseWhoseReplyIsLostLeavesTheOuterHoldAlone(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]redlatch.LockOption{
		"renewed": nil,
		"fixed":   {redlatch.WithLease(30 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
				ctx, l := s.client.WithOwner(s.limited()), k.lock(s.client, "job")
				outer := must(l.Lock(ctx, opts...))
				inner := must(l.Lock(ctx, redlatch.WithLease(2*time.Minute)))
				s.driver.spoil(thenCutOff(losesAnswer))
				defer s.driver.spoil(nil)
				is(t, "Unlock", inner.Unlock(ctx), redlatch.ErrUnknownOutcome)
				s.wantAlone(outer, k)
			})
		})
	}
}

// The reply to the inner release takes ten milliseconds. Until it is there, the outer hold
// is as long as the inner one was.
func TestAnInnerReleaseBehindTheEndOfTheOuterHoldLeavesItItsKey(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		ctx, l, net := s.client.WithOwner(s.limited()), k.lock(s.client, "job"), s.tap()
		rival := k.rival(s.stranger(), "job")
		outer := must(l.Lock(ctx, redlatch.WithMaxHold(40*time.Second)))
		inner := must(l.Lock(ctx, redlatch.WithMaxHold(80*time.Second)))
		time.Sleep(60 * time.Second)
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
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
		net.set(nil)
		_ = outer.Unlock(ctx)
	})
}

// The write side is renewed beneath an inner read hold that lasts longer, and then ends
// without a release.
func TestARenewalOfTheWriteSideDoesNotShortenAnInnerReadHold(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.client.WithOwner(s.limited()), s.client.RWMutex("job")
		w := must(m.Lock(ctx))
		r := must(m.RLock(ctx, redlatch.WithLease(5*time.Minute)))
		time.Sleep(11 * time.Second) // the write side has been renewed
		w.Detach()
		s.wantAlone(r, lockKind{rival: writeOf})
	})
}

// Each re-entry confirms the lock as a whole, and puts the next renewal off.
func TestEveryReadHoldThatIsValidHasItsTimeoutKey(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.client.WithOwner(s.limited()), s.client.RWMutex("job")
		began := time.Now()
		var holds []*redlatch.Hold
		for range 24 {
			holds = append(holds, must(m.RLock(ctx)))
			time.Sleep(5 * time.Second)
			valid := 0
			for _, h := range holds {
				if h.Valid() {
					valid++
				}
			}
			for i := range valid {
				key := fmt.Sprintf("{job}:%s:rwlock_timeout:%d", holds[0].Owner(), i+1)
				if !s.memory.Miniredis().Exists(key) {
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
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				ctx, m := s.client.WithOwner(s.limited()), s.client.RWMutex("job")
				holds := []*redlatch.Hold{must(m.Lock(ctx, redlatch.WithLease(5*time.Second))), must(m.RLock(ctx))}
				time.Sleep(time.Minute)
				if writeLast {
					holds[0], holds[1] = holds[1], holds[0]
				}
				for _, h := range holds {
					if err := h.Unlock(ctx); err != nil {
						t.Error("Unlock:", err)
					}
				}
				next, err := s.stranger().RWMutex("job").TryLock(s.limited())
				if err != nil {
					t.Fatalf("nobody holds the lock, and it is not free for %v: %v", s.ttl("job"), err)
				}
				_ = next.Unlock(s.limited())
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
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				ctx, m := s.client.WithOwner(s.limited()), s.client.RWMutex("job")
				w := must(m.Lock(ctx, opts[0]...))
				r := must(m.RLock(ctx, opts[1]...))
				if err := w.Unlock(ctx); err != nil {
					t.Fatal(err)
				}
				s.wantAlone(r, lockKinds[3])
			})
		})
	}
}

// The same with a reader that is renewed, in an outage.
func TestARenewedReadInsideALongWriteIsNotTrustedBeyondItsTimeoutKey(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.client.WithOwner(s.limited()), s.client.RWMutex("job")
		w := must(m.Lock(ctx, redlatch.WithLease(5*time.Minute)))
		r := must(m.RLock(ctx))
		if err := w.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		s.driver.spoil(func([]string) fate { return isLost })
		defer s.driver.spoil(nil)
		s.wantAlone(r, lockKinds[3])
	})
}
