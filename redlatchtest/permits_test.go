package redlatchtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// The faults on the permits of a semaphore.

// semaphore makes a semaphore with n permits.
func semaphore(t *testing.T, client *redlatch.Client, n int) *redlatch.PermitSemaphore {
	t.Helper()
	s := client.PermitSemaphore("permits")
	if _, err := s.TrySetPermits(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return s
}

// wantAvailable fails unless so many permits are available.
func wantAvailable(t *testing.T, s *redlatch.PermitSemaphore, want int) {
	t.Helper()
	if n, err := s.Available(t.Context()); err != nil || n != want {
		t.Errorf("%d permits are available, %v; want %d", n, err, want)
	}
}

func TestLostPermitsAreToldAndAvailable(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		holder, other := s.Client(cfg), s.Client(cfg)
		permits := semaphore(t, holder, 2)
		first, second := lock(t, permits.Locker()), lock(t, permits.Locker())
		waiter := make(chan *redlatch.Hold, 1)
		go func() { waiter <- lock(t, other.PermitSemaphore("permits").Locker()) }()
		awaitWaiters(t, other, 1)
		began := time.Now()
		s.Lose("permits")
		third := <-waiter
		if took := time.Since(began); took > 100*time.Millisecond && cfg.LeaseTime == 0 {
			t.Errorf("the waiter was woken after %v", took)
		}
		awaitLost(t, first)
		awaitLost(t, second)
		if !third.Valid() {
			t.Error("the waiter got no permit")
		}
		wantAvailable(t, permits, 1)
	})
}

// Goal: a pool that loses one permit goes on with the others.
func TestOnePermitIsLost(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		permits := semaphore(t, s.Client(cfg), 3)
		lost, kept := lock(t, permits.Locker()), lock(t, permits.Locker())
		s.Lose("permits", lost.Owner())
		awaitLost(t, lost)
		if !kept.Valid() {
			t.Error("the other permit is lost too:", kept.Err())
		}
		wantAvailable(t, permits, 2)
	})
}

func TestOneReaderLosesTheLock(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		client := s.Client(cfg)
		lost, kept := lock(t, client.RWMutex("table").RLocker()), lock(t, client.RWMutex("table").RLocker())
		s.Lose("table", lost.Owner())
		awaitLost(t, lost)
		if !kept.Valid() {
			t.Error("the other reader has lost the lock too:", kept.Err())
		}
	})
}

func TestExpiredPermitsAreToldAndAvailable(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		permits := semaphore(t, s.Client(cfg), 2)
		hold := lock(t, permits.Locker())
		s.Expire("permits")
		wantAvailable(t, permits, 2)
		other := lock(t, permits.Locker())
		awaitLost(t, hold)
		if !other.Valid() {
			t.Error("a permit that was taken later is lost:", other.Err())
		}
		wantAvailable(t, permits, 1)
	})
}

// Goal: while the server is frozen, a hold of a permit ends by itself, and nobody else has the permit by then.
func TestAFrozenServerKeepsPermitsUntilTheirHoldersKnow(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		permits := semaphore(t, s.Client(cfg), 1)
		hold := lock(t, permits.Locker())
		thaw := s.Freeze()
		awaitLost(t, hold)
		if until, _ := s.Miniredis().SortedSet("{permits}:timeout"); len(until) != 1 {
			t.Errorf("in use: %v", until)
		} else {
			for _, at := range until {
				if at < float64(hold.Deadline().UnixMilli()) {
					t.Errorf("the lease ends in Redis at %.0f, before the hold, which ends at %d", at, hold.Deadline().UnixMilli())
				}
			}
		}
		thaw()
		lock(t, permits.Locker())
	})
}

func TestAShortFreezeCostsNoPermit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		hold := lock(t, semaphore(t, s.Client(redlatch.Config{}), 1).Locker())
		thaw := s.Freeze()
		time.Sleep(15 * time.Second)
		thaw()
		time.Sleep(time.Minute)
		if !hold.Valid() {
			t.Error("the permit is lost:", hold.Err())
		}
	})
}

func TestPermitsAreDeniedAndLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		permits := semaphore(t, s.Client(redlatch.Config{}), 1)
		allow := s.Deny("EVALSHA")
		if _, err := permits.TryAcquire(t.Context()); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Error("the error is:", err)
		}
		allow()
		if err := lock(t, permits.Locker()).Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		s.Delay(time.Second)
		began := time.Now()
		hold, err := permits.TryAcquire(t.Context())
		if took := time.Since(began); err != nil || took != time.Second {
			t.Errorf("it took %v, %v", took, err)
		}
		allow, thaw := s.Deny(), s.Freeze()
		s.Lose("permits")
		thaw()
		allow()
		awaitLost(t, hold)
		if err := hold.Unlock(context.Background()); !errors.Is(err, redlatch.ErrLost) {
			t.Error("Unlock:", err)
		}
		wantAvailable(t, permits, 1)
	})
}

func TestAnExpiredPermitCannotBeLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := failureOf(t, func(fake testing.TB) {
			s := redlatchtest.NewServer(fake)
			lock(t, semaphore(t, s.Client(redlatch.Config{}), 1).Locker())
			s.Expire("permits")
			s.Lose("permits")
		})
		if !strings.Contains(got, `Lose("permits"): nobody holds this lock`) {
			t.Errorf("the test failed with %q", got)
		}
	})
}

func TestWhatIsInUseByNobodyCannotBeLost(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]func(*redlatchtest.Server){
		`Lose("permits"): nobody holds this lock`:         func(s *redlatchtest.Server) { s.Lose("permits") },
		`Expire("permits"): nobody holds this lock`:       func(s *redlatchtest.Server) { s.Expire("permits") },
		`Lose("permits"): "abc" does not hold this lock`:  func(s *redlatchtest.Server) { s.Lose("permits", "abc") },
		`Lose("none"): "a:1" does not hold this lock`:     func(s *redlatchtest.Server) { s.Lose("none", "a:1") },
		`Expire("unowned"): nobody holds this lock`:       func(s *redlatchtest.Server) { s.Expire("unowned") },
		`Lose("unowned"): nobody holds this lock; the se`: func(s *redlatchtest.Server) { s.Lose("unowned") },
	} {
		got := failureOf(t, func(fake testing.TB) {
			s := redlatchtest.NewServer(fake)
			client := s.Client(redlatch.Config{})
			semaphore(t, client, 1)
			if _, err := client.Semaphore("unowned").TrySetPermits(t.Context(), 3); err != nil {
				t.Error(err)
			}
			call(s)
			t.Errorf("%s: it did not fail", want)
		})
		if !strings.Contains(got, want) {
			t.Errorf("the test failed with %q, want %q", got, want)
		}
	}
}
