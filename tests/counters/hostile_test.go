package counters_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/schedule"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Semaphores and latches beside neighbours that do not keep to their layout.

// Every verb refuses a key that is no number, and says so by one name. It changes nothing.
func TestAKeyThatIsNoNumberIsRefusedByEveryVerb(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		s, p, l, inUse := c.Semaphore(name), c.PermitSemaphore(name), c.Latch(name), "{"+name+"}:timeout"
		for _, text := range []string{
			"", "abc", "1.5", " 3", "3 ", "+3", "007", "-0", "-", "9e99", "0x10", "9007199254740993", "9999999999999999", "-9999999999999999", "9223372036854775807", "9223372036854775808",
		} {
			fixture.Do(t, d, "SET", name, text)
			fixture.Do(t, d, "DEL", inUse)
			fixture.Do(t, d, "ZADD", inUse, "1", "dead", "99999999999999", "alive")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			for what, err := range map[string]error{
				"TrySetPermits": check.ErrOf(s.TrySetPermits(ctx, 1)), "AddPermits": s.AddPermits(ctx, 1), "Available": check.ErrOf(s.Available(ctx)), "Drain": check.ErrOf(s.Drain(ctx)),
				"Acquire": s.Acquire(ctx, 1), "TryAcquire": check.ErrOf(s.TryAcquire(ctx, 1)), "Release": s.Release(ctx, 1),
				"permits: TrySetPermits": check.ErrOf(p.TrySetPermits(ctx, 1)), "permits: AddPermits": p.AddPermits(ctx, 1), "permits: Available": check.ErrOf(p.Available(ctx)),
				"permits: Acquire": check.ErrOf(p.Acquire(ctx)), "permits: TryAcquire": check.ErrOf(p.TryAcquire(ctx)),
				"TrySetCount": check.ErrOf(l.TrySetCount(ctx, 1)), "CountDown": l.CountDown(ctx), "Count": check.ErrOf(l.Count(ctx)), "Wait": l.Wait(ctx),
			} {
				if !errors.Is(err, redlatch.ErrWrongType) {
					t.Errorf("%s with %q: %v, want ErrWrongType", what, text, err)
				}
			}
			cancel()
			if got := fixture.Do(t, d, "GET", name).Str; got != text {
				t.Errorf("%q became %q", text, got)
			}
			if n := fixture.Do(t, d, "ZCARD", inUse).Int; n != 2 {
				t.Errorf("beside %q there are %d permits in use of 2", text, n)
			}
		}
	})
}

// A server's refusal names the verb and the script that met it.
func TestAForgedRecordIsNamedByTheVerbThatMetIt(t *testing.T) {
	t.Parallel()
	url := "memory://" + redistest.Name(t)
	c, d := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url)
	fixture.Do(t, d, "SET", "redlatch:request:{job}:"+c.ID()+":1", "999999999 5")
	_, err := c.Semaphore("job").Drain(t.Context())
	if err == nil || !strings.Contains(err.Error(), "semaphore_drain") {
		t.Errorf("Drain: %v", err)
	}
}

// What needs one holder at a time refuses a semaphore, and says what it is.
func TestWhatNeedsOneHolderRefusesPermits(t *testing.T) {
	t.Parallel()
	c := fixture.Open(t, "memory://"+redistest.Name(t), redlatch.Config{})
	l := fixture.PermitsOf(t, c, "job", 1).Locker()
	fenced := check.ErrOf(fence.Lock(t.Context(), l, func(context.Context, int64) error { return nil }))
	for _, err := range []error{
		check.ErrOf(redlatch.NewMulti(c.Mutex("a"), l)), check.ErrOf(redlatch.NewQuorum(l)), fenced,
		leader.Run(t.Context(), l, leader.Callbacks{Started: func(context.Context, *redlatch.Hold) { t.Error("it leads") }}),
		schedule.Run(t.Context(), l, schedule.Every(20*time.Millisecond), schedule.Job{AtLeast: 10 * time.Millisecond, Do: func(context.Context, time.Time, *redlatch.Hold) error { t.Error("it runs"); return nil }}),
	} {
		if !isConfig(err) || !strings.Contains(err.Error(), "PermitSemaphore") {
			t.Errorf("%v", err)
		}
	}
}

// An ended context is told, and nothing was done; what puts back does its work all the same.
func TestCountersWithAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, name := fixture.Open(t, url, redlatch.Config{}), redistest.Name(t)
		s, p, l := c.Semaphore(name+"s"), c.PermitSemaphore(name+"p"), c.Latch(name+"l")
		check.Must(s.TrySetPermits(t.Context(), 5))
		check.Must(p.TrySetPermits(t.Context(), 5))
		check.Must(l.TrySetCount(t.Context(), 5))
		h := check.Must(p.Acquire(t.Context()))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for what, err := range map[string]error{
			"TrySetPermits": check.ErrOf(s.TrySetPermits(ended, 1)), "AddPermits": s.AddPermits(ended, 1), "Available": check.ErrOf(s.Available(ended)), "Drain": check.ErrOf(s.Drain(ended)),
			"Acquire": s.Acquire(ended, 1), "TryAcquire": check.ErrOf(s.TryAcquire(ended, 1)), "permits: Acquire": check.ErrOf(p.Acquire(ended)), "permits: Available": check.ErrOf(p.Available(ended)),
			"TrySetCount": check.ErrOf(l.TrySetCount(ended, 1)), "Count": check.ErrOf(l.Count(ended)), "Wait": l.Wait(ended),
		} {
			acquires := strings.HasSuffix(what, "cquire") || what == "Wait"
			if !errors.Is(err, context.Canceled) || errors.Is(err, redlatch.ErrUnknownOutcome) || errors.Is(err, redlatch.ErrNotAcquired) != acquires {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := errors.Join(s.Release(ended, 1), h.Unlock(ended), l.CountDown(ended)); err != nil {
			t.Error(err)
		}
		fixture.Available(t, s, 6)
		fixture.Available(t, p, 5)
		if n, err := l.Count(t.Context()); n != 4 || err != nil {
			t.Errorf("the count is %d, %v", n, err)
		}
	})
}

// An hour of requests leaves nothing but the numbers themselves.
func TestLongCountersLeaveNothingBehind(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx := s.Limited()
		for i := range 3000 {
			sem, l := s.Client.Semaphore(fmt.Sprint("s", i)), s.Client.Latch(fmt.Sprint("l", i))
			check.Must(sem.TrySetPermits(ctx, 1))
			check.Must(l.TrySetCount(ctx, 1))
			check.Must(0, errors.Join(sem.Acquire(ctx, 1), sem.Release(ctx, 1), l.CountDown(ctx), l.CountDown(ctx), l.Wait(ctx)))
		}
		h := check.Must(fixture.PermitsOf(t, s.Client, "p", 1).Acquire(ctx))
		check.Must(0, h.Unlock(ctx))
		time.Sleep(241 * time.Second)
		if keys := s.Memory.Miniredis().Keys(); len(keys) != 3001 {
			t.Errorf("left over: %d keys, want the 3000 semaphores and one", len(keys))
		}
	})
}

// A server that loses its data ends the permits, and what is put back later makes no more of them.
func TestCountersOfAServerThatWasFlushed(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, p := s.Limited(), fixture.PermitsOf(t, s.Client, "p", 2)
		h, other := check.Must(p.Acquire(ctx)), check.Must(p.Acquire(ctx))
		s.Memory.Do(ctx, driver.Command{Words: []string{"FLUSHALL"}})
		check.Is(t, "Unlock after FLUSHALL", other.Unlock(ctx), redlatch.ErrLost)
		<-h.Done()
		check.Is(t, "the hold", h.Err(), redlatch.ErrLost)
		fixture.Available(t, p, 0)
		if set, err := p.TrySetPermits(ctx, 2); !set || err != nil {
			t.Errorf("made anew: %v, %v", set, err)
		}
		fixture.Available(t, p, 2)
	})
}

// A protected client reports its waits, and those for permits and latches are none for a lock.
func TestAProtectedClientThatWaitsForCounters(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, c := s.Limited(), s.Other(redlatch.Config{Protect: true})
		check.Must(c.Latch("latch").TrySetCount(ctx, 1))
		h := check.Must(c.Mutex("lock").Lock(ctx))
		waiting, leave := context.WithCancel(h.Context())
		var all sync.WaitGroup
		for _, wait := range []func() error{
			func() error { return c.Latch("latch").Wait(waiting) }, func() error { return c.Semaphore("job").Acquire(waiting, 1) }, func() error { return check.ErrOf(c.PermitSemaphore("permits").Acquire(waiting)) },
		} {
			all.Go(func() { check.Is(t, "a wait", wait(), redlatch.ErrNotAcquired) })
		}
		time.Sleep(5 * time.Minute)
		if waits := s.Memory.Miniredis().Keys(); strings.Contains(strings.Join(waits, " "), ":waits") || !h.Valid() {
			t.Errorf("after five minutes there are the keys %q, and the hold says %v", waits, h.Err())
		}
		leave()
		all.Wait()
		check.Must(0, h.Unlock(ctx))
	})
}
