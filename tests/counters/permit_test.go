package counters_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A semaphore with leased permits: what each verb does, on every server, and in fake time.

func TestAPermitIsAHold(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		ctx, c := t.Context(), fixture.Open(t, url, redlatch.Config{})
		s := fixture.PermitsOf(t, c, redistest.Name(t), 2)
		if set, err := s.TrySetPermits(ctx, 5); err != nil || set {
			t.Errorf("a second TrySetPermits: %v, %v", set, err)
		}
		one, two := check.Must(s.Acquire(ctx)), check.Must(s.TryAcquire(c.WithOwner(ctx)))
		if len(one.Owner()) != 32 || one.Owner() == two.Owner() || !one.Valid() || time.Until(one.Deadline()) < 25*time.Second {
			t.Errorf("the permits are %v and %v, until %v", one, two, one.Deadline())
		}
		if _, err := s.TryAcquire(one.Context()); !errors.Is(err, redlatch.ErrNotAcquired) || errors.Is(err, redlatch.ErrReentry) {
			t.Errorf("a third permit of two: %v", err)
		}
		fixture.Available(t, s, 0)
		if err := one.Extend(ctx, 10*time.Minute); err != nil || time.Until(one.Deadline()) < 9*time.Minute {
			t.Errorf("an extended permit lasts until %v: %v", one.Deadline(), err)
		}
		for _, h := range []*redlatch.Hold{one, two, one} {
			if err := h.Unlock(ctx); err != nil {
				t.Error("Unlock:", err)
			}
		}
		fixture.Available(t, s, 2)
		if err := one.Err(); !errors.Is(err, redlatch.ErrReleased) {
			t.Errorf("a permit that was put back ended with %v", err)
		}
		taken := check.Must(s.TryAcquire(ctx))
		const old = "00112233445566778899aabbccddeeff" // as Redisson before 3.17.0 writes an id
		fixture.Do(t, fixture.Raw(t, url), "ZADD", "{"+s.Name()+"}:timeout", "99999999999999", old)
		for _, force := range []struct {
			id   string
			want bool
		}{{taken.Owner() + ":1", false}, {taken.Owner(), true}, {taken.Owner(), false}, {old, true}, {old, false}} {
			if forced, err := s.ForceUnlockIf(ctx, force.id); forced != force.want || err != nil {
				t.Fatalf("ForceUnlockIf(%s): %v, %v", force.id, forced, err)
			}
		}
		if err := taken.Unlock(ctx); !errors.Is(err, redlatch.ErrLost) {
			t.Errorf("Unlock of a permit that was taken away: %v", err)
		}
		if err := s.AddPermits(ctx, -2); err != nil {
			t.Error(err)
		}
		fixture.Available(t, s, 1)
		err := redlatch.Do(ctx, s.Locker(), func(context.Context, *redlatch.Hold) error { fixture.Available(t, s, 0); return nil })
		if err != nil {
			t.Error(err)
		}
		fixture.Available(t, s, 1)
	})
}

func TestPermitsAreRefusedWhatOnlyLocksHave(t *testing.T) {
	t.Parallel()
	c := fixture.Open(t, "memory://"+redistest.Name(t), redlatch.Config{})
	s := fixture.PermitsOf(t, c, "job", 1)
	for _, opt := range []redlatch.LockOption{redlatch.WithFencing(), redlatch.WithCohort(time.Second), redlatch.WithMinHold(time.Second)} {
		if _, err := s.Acquire(t.Context(), opt); !isConfig(err) {
			t.Errorf("%+v: %v, want a *ConfigError", opt, err)
		}
	}
	if _, err := redlatch.NewMulti(s.Locker()); !isConfig(err) {
		t.Errorf("a Multi of permits: %v, want a *ConfigError", err)
	}
	if _, err := c.PermitSemaphore("").TryAcquire(t.Context()); !errors.Is(err, redlatch.ErrInvalidName) {
		t.Errorf("without a name: %v", err)
	}
	if _, err := c.PermitSemaphore("").Available(t.Context()); !errors.Is(err, redlatch.ErrInvalidName) {
		t.Errorf("without a name: %v", err)
	}
	h := check.Must(c.Mutex("lock").Lock(t.Context()))
	defer h.Unlock(t.Context())
	if _, err := c.PermitSemaphore("lock").TryAcquire(t.Context()); !errors.Is(err, redlatch.ErrWrongType) {
		t.Errorf("a permit of a mutex: %v", err)
	}
	fixture.Available(t, s, 1)
}

// Whoever forgets TrySetPermits is told so.
func TestAnErrorSaysThatThereIsNoSemaphore(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		c := fixture.Open(t, url, redlatch.Config{})
		s := c.PermitSemaphore(redistest.Name(t))
		_, tried := s.TryAcquire(t.Context())
		waited := fixture.InVain(func(wait redlatch.LockOption) error { _, err := s.Acquire(t.Context(), wait); return err })
		for wait, err := range map[string]error{"without a wait": tried, "after a wait": waited} {
			if !errors.Is(err, redlatch.ErrNotAcquired) || !strings.Contains(err.Error(), "TrySetPermits") {
				t.Errorf("%s: %v", wait, err)
			}
		}
		if set, err := s.TrySetPermits(t.Context(), 0); err != nil || !set {
			t.Fatal(set, err)
		}
		if _, err := s.TryAcquire(t.Context()); !errors.Is(err, redlatch.ErrNotAcquired) || strings.Contains(err.Error(), "TrySetPermits") {
			t.Errorf("of no permits: %v", err)
		}
	})
}

func isConfig(err error) bool {
	_, is := errors.AsType[*redlatch.ConfigError](err)
	return is
}

// The permits of a dead process come back, and its waiters do not wait for the poll cap.
func TestPermitsOfTheDeadComeBackInTime(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage.Stage) {
		dead := fixture.PermitsOf(t, s.Stranger(), "job", 3)
		for i := range 3 { // three that nobody renews
			check.Must(dead.Acquire(s.Limited(), redlatch.WithLease(time.Duration(10+10*i)*time.Second))).Detach()
		}
		began := time.Now()
		for i := range 3 {
			check.Must(s.Client.PermitSemaphore("job").Acquire(s.Limited(), redlatch.WithLease(time.Hour))).Detach()
			check.Within(t, "the wait for an expired permit", time.Since(began), time.Duration(10+10*i)*time.Second, time.Duration(10+10*i)*time.Second+20*time.Millisecond)
		}
	})
}

// A renewal that arrives after the lease does not revive it, even if nobody has put the permit back.
func TestALateRenewalRevivesNoPermit(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net := s.Tap()
		fixture.PermitsOf(t, s.Client, "job", 1)
		h := check.Must(s.Client.PermitSemaphore("job").Acquire(s.Limited()))
		time.Sleep(15 * time.Second) // the server knows how to renew
		var late []driver.Command
		net.Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
			late = append(late, commands...)
			return stage.FailAll(commands, stage.ErrCut)
		})
		<-h.Done()
		time.Sleep(time.Second)
		s.Memory.Pipeline(context.Background(), late...)
		net.Set(nil)
		if other, err := s.Stranger().PermitSemaphore("job").TryAcquire(s.Limited()); err != nil || len(late) < 3 {
			t.Errorf("after %d late renewals a stranger gets %v, %v", len(late), other, err)
		}
	})
}

// Resizing below what is held takes nothing from the holders. Nobody enters until enough are back.
func TestResizingBelowWhatIsHeld(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, sem := s.Limited(), fixture.PermitsOf(t, s.Client, "job", 3)
		holds := []*redlatch.Hold{check.Must(sem.Acquire(ctx)), check.Must(sem.Acquire(ctx)), check.Must(sem.Acquire(ctx))}
		if err := sem.AddPermits(ctx, -2); err != nil {
			t.Fatal(err)
		}
		fixture.Available(t, sem, -2)
		got := make(chan *redlatch.Hold, 1)
		go func() { got <- check.Must(s.Stranger().PermitSemaphore("job").Acquire(ctx)) }()
		for i, h := range holds {
			time.Sleep(time.Minute)
			if len(got) > 0 || !h.Valid() {
				t.Fatalf("with %d held of one permit somebody entered, or a hold was lost: %v", 3-i, h.Err())
			}
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		h := <-got
		fixture.Available(t, sem, 0)
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
		fixture.Available(t, sem, 1)
	})
}

// Somebody else's messages count while this process holds permits, and one message can let in many.
func TestAProcessThatHoldsPermitsHearsOfOthers(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage.Stage) {
		ctx, sem, far := s.Limited(), fixture.PermitsOf(t, s.Client, "job", 3), s.Stranger().PermitSemaphore("job")
		theirs := check.Must(far.Acquire(ctx))
		own := []*redlatch.Hold{check.Must(sem.Acquire(ctx)), check.Must(sem.Acquire(ctx))}
		var entered atomic.Int64
		for range 5 {
			go func() { check.Must(sem.Acquire(ctx)); entered.Add(1) }()
			synctest.Wait()
		}
		for i, free := range []func() error{
			func() error { return theirs.Unlock(ctx) }, func() error { return far.AddPermits(ctx, 3) }, func() error { return own[0].Unlock(ctx) },
		} {
			time.Sleep(time.Second)
			if err := free(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if got, want := entered.Load(), []int64{1, 4, 5}[i]; got != want {
				t.Errorf("%d entered after step %d, want %d", got, i, want)
			}
		}
	})
}

// Nothing but the counter stays in Redis, and of that nothing expires that is in use.
func TestASemaphoreLeavesNoTraceOfItsPermits(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, sem := s.Limited(), fixture.PermitsOf(t, s.Client, "job", 1)
		s.Memory.Miniredis().SetTTL("job", time.Minute) // as Java's trySetPermits with a time to live
		h := check.Must(sem.Acquire(ctx))
		time.Sleep(5 * time.Minute)
		if !h.Valid() || s.TTL("job") < 10*time.Second || s.TTL("{job}:timeout") != s.TTL("job") {
			t.Errorf("a permit is held, %v, and the semaphore lives for %v, its set for %v", h.Err(), s.TTL("job"), s.TTL("{job}:timeout"))
		}
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(4 * time.Minute)
		if keys := s.Memory.Miniredis().Keys(); len(keys) > 0 {
			t.Errorf("left over: %v", strings.Join(keys, " "))
		}
	})
}

// Goal: Close says that a permit stays. Method: the counter of its semaphore is of another type.
func TestCloseSaysThatAPermitStays(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		c := check.Must(redlatch.New(s.Driver, fixture.Quiet(redlatch.Config{}))) // which the story does not close again
		check.Must(c.PermitSemaphore("job").TrySetPermits(s.Limited(), 1))
		check.Must(c.PermitSemaphore("job").Acquire(s.Limited()))
		s.Memory.Miniredis().Del("job")
		s.Memory.Miniredis().HSet("job", "a", "b")
		check.Is(t, "Close", c.Close(s.Limited()), redlatch.ErrWrongType)
	})
}
