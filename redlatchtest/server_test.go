package redlatchtest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchtest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// both runs a test in a bubble, with the default lease, and in real time, with a short one.
func both(t *testing.T, test func(t *testing.T, cfg redlatch.Config)) {
	t.Parallel()
	t.Run("bubble", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { test(t, redlatch.Config{}) })
	})
	t.Run("real time", func(t *testing.T) {
		t.Parallel()
		test(t, redlatch.Config{LeaseTime: 3 * time.Second, CommandTimeout: time.Second, ReleaseTimeout: time.Second})
	})
}

// patience is longer than anything takes in real time, and than a lease in a bubble.
const patience = time.Minute

// lock takes a lock, or fails the test.
func lock(t *testing.T, l redlatch.Lock, opts ...redlatch.LockOption) *redlatch.Hold {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return redistest.Must(l.Lock(ctx, opts...))
}

// awaitLost waits until a hold is lost.
func awaitLost(t *testing.T, hold *redlatch.Hold) {
	t.Helper()
	select {
	case <-hold.Done():
	case <-time.After(patience):
		t.Fatal("the holder was not told")
	}
	if !errors.Is(hold.Err(), redlatch.ErrLost) {
		t.Error("the hold has ended with:", hold.Err())
	}
}

func TestClientsOfOneServerExcludeEachOther(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s, other := redlatchtest.NewServer(t), redlatchtest.NewServer(t)
		first, second := s.Client(cfg), s.Client(cfg)
		hold := lock(t, first.Mutex("job"))
		if _, err := second.Mutex("job").TryLock(t.Context()); !errors.Is(err, redlatch.ErrNotAcquired) {
			t.Error("the second client got:", err)
		}
		lock(t, other.Client(cfg).Mutex("job"))
		if err := hold.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		lock(t, second.Mutex("job"))
	})
}

// A multi-lock, whose members are on two servers, tells them apart; a quorum does not think that one
// of them has restarted.
func TestServersFormAMultiAndAQuorum(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		var multi, quorum []redlatch.Lock
		for range 3 {
			client := redlatchtest.NewServer(t).Client(cfg)
			multi, quorum = append(multi, client.Mutex("m")), append(quorum, client.Mutex("q"))
		}
		all, notMulti := redlatch.NewMulti(multi...)
		most, notQuorum := redlatch.NewQuorum(quorum...)
		if err := errors.Join(notMulti, notQuorum); err != nil {
			t.Fatal(err)
		}
		lock(t, all)
		lock(t, most)
	})
}

// closes counts the holds that the end of a client released.
type closes struct{ atomic.Int64 }

func (c *closes) Observe(_ context.Context, e redlatch.Event) {
	if e.Kind == redlatch.EventClosed && e.Err == nil {
		c.Add(1)
	}
}

// Goal: what a test holds at its end does not outlive it, and faults do not outlive it either. Method:
// TestMain looks for goroutines at the end of all tests, and the bubble at its own.
func TestNothingIsLeftWhateverFails(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		released := &closes{}
		cfg.Observer = released
		t.Cleanup(func() {
			if released.Load() != 1 {
				t.Error("the lock was not released")
			}
		})
		s := redlatchtest.NewServer(t)
		client := s.Client(cfg)
		lock(t, client.Mutex("held"))
		var waits sync.WaitGroup
		t.Cleanup(waits.Wait)
		waits.Go(func() { _, _ = client.Mutex("held").Lock(t.Context()) })
		s.Delay(time.Hour)
		s.Freeze()
		s.Deny()
	})
}

// fakeTest is a test that only notes that it failed.
type fakeTest struct {
	testing.TB
	failure string
}

func (f *fakeTest) Helper() {}

func (f *fakeTest) Fatalf(format string, args ...any) {
	f.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failureOf runs what should fail a test, and returns the words.
func failureOf(t *testing.T, call func(t testing.TB)) string {
	fake := &fakeTest{TB: t}
	var done sync.WaitGroup
	done.Go(func() { call(fake) })
	done.Wait()
	return fake.failure
}

func TestWhatCannotBeDoneFailsTheTestInClearWords(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]func(*redlatchtest.Server){
		`Lose("job"): nobody holds this lock; the server has the keys ["other"]`:     func(s *redlatchtest.Server) { s.Lose("job") },
		`Expire("job"): nobody holds this lock; the server has the keys ["other"]`:   func(s *redlatchtest.Server) { s.Expire("job") },
		`Lose("other"): redlatch: force unlock "other": the key is not a lock`:       func(s *redlatchtest.Server) { s.Lose("other") },
		`Expire("other"): nobody holds this lock; the server has the keys ["other"]`: func(s *redlatchtest.Server) { s.Expire("other") },
		`Lose("job"): an owner is empty`:                                             func(s *redlatchtest.Server) { s.Lose("job", "") },
		`LeaseTime`:                                                                  func(s *redlatchtest.Server) { s.Client(redlatch.Config{LeaseTime: 1}) },
		`is the server frozen or denying?`: func(s *redlatchtest.Server) {
			s.Freeze()
			s.Client(redlatch.Config{CommandTimeout: 10 * time.Millisecond})
		},
	} {
		got := failureOf(t, func(fake testing.TB) {
			s := redlatchtest.NewServer(fake)
			_ = s.Miniredis().Set("other", "data")
			call(s)
		})
		if !strings.Contains(got, want) || !strings.HasPrefix(got, "redlatchtest: ") {
			t.Errorf("the test failed with %q, want %q", got, want)
		}
	}
}
