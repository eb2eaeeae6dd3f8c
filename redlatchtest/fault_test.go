package redlatchtest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// kinds are locks of every kind.
func kinds(client *redlatch.Client) map[string]redlatch.Lock {
	return map[string]redlatch.Lock{
		"mutex": client.Mutex("mutex"), "fair": client.FairMutex("fair"),
		"read": client.RWMutex("read").RLocker(), "write": client.RWMutex("write"),
	}
}

func TestALostLockIsToldAndFree(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		holder, other := s.Client(cfg), s.Client(cfg)
		for name, l := range kinds(holder) {
			hold := lock(t, l)
			waiter := make(chan *redlatch.Hold, 1)
			var waits sync.WaitGroup
			waits.Go(func() { waiter <- lock(t, exclusive(other, name)) })
			awaitWaiters(t, other, 1)
			began := time.Now()
			s.Lose(name)
			waits.Wait()
			if took := time.Since(began); took > 100*time.Millisecond && cfg.LeaseTime == 0 {
				t.Errorf("%s: the waiter was woken after %v", name, took)
			}
			awaitLost(t, hold)
			if got := <-waiter; got == nil || !got.Valid() {
				t.Errorf("%s: the waiter did not get the lock", name)
			}
		}
	})
}

// exclusive is the lock of that name with which nobody else can hold it.
func exclusive(client *redlatch.Client, name string) redlatch.Lock {
	if name == "read" {
		return client.RWMutex("read")
	}
	return kinds(client)[name]
}

// awaitWaiters waits until so many goroutines wait.
func awaitWaiters(t *testing.T, client *redlatch.Client, n int) {
	t.Helper()
	for end := time.Now().Add(patience); client.Stats().Waiters != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody waits")
		}
	}
}

func TestAnExpiredLockIsToldAndFree(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		holder, other := s.Client(cfg), s.Client(cfg)
		for name, l := range kinds(holder) {
			hold := lock(t, l)
			s.Expire(name)
			taken, err := exclusive(other, name).TryLock(t.Context())
			if err != nil || !taken.Valid() {
				t.Errorf("%s: the lock is not free: %v", name, err)
			}
			awaitLost(t, hold)
		}
	})
}

func TestLoseWorksOnAServerThatFails(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		hold := lock(t, s.Client(cfg).Mutex("job"))
		allow, thaw := s.Deny(), s.Freeze()
		s.Lose("job")
		thaw()
		allow()
		awaitLost(t, hold)
	})
}

// Goal: while the server is frozen, a hold ends by itself and before its lease ends in Redis. What
// was sent is carried out late. Then the server works as before.
func TestAFrozenServerDoesNotAnswer(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		client := s.Client(cfg)
		hold := lock(t, client.Mutex("job"))
		thaw := s.Freeze()
		second := s.Freeze()
		free := time.Now().Add(s.Miniredis().TTL("job"))
		awaitLost(t, hold)
		if end := hold.Deadline(); !end.Before(free) {
			t.Errorf("the lease ended in Redis %v before the hold", end.Sub(free))
		}
		if _, err := client.Mutex("late").Lock(t.Context()); err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
			t.Error("the server has answered:", err)
		}
		second()
		second()
		if _, err := client.Mutex("late").TryLock(t.Context()); err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
			t.Error("a second call of one thaw ended both freezes:", err)
		}
		thaw()
		lock(t, client.Mutex("job"))
	})
}

func TestWhatWasSentBetweenTwoFreezesArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		client := s.Client(redlatch.Config{})
		first := s.Freeze()
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := client.Mutex("job").TryLock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		second := s.Freeze()
		first()
		second()
		wait.Wait()
	})
}

func TestAShortFreezeCostsNoHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		hold := lock(t, s.Client(redlatch.Config{}).Mutex("job"))
		thaw := s.Freeze()
		time.Sleep(15 * time.Second)
		thaw()
		time.Sleep(time.Minute)
		if !hold.Valid() {
			t.Error("the hold is lost:", hold.Err())
		}
	})
}

// Goal: a delay is the time of a round trip, for each of those that are under way together.
func TestADelayIsTheTimeOfARoundTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		client := s.Client(redlatch.Config{})
		lock(t, client.Mutex("known")) // the script is loaded
		s.Delay(time.Second)
		took := func(name string) time.Duration {
			began := time.Now()
			lock(t, client.Mutex(name))
			return time.Since(began)
		}
		var calls sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d"} {
			calls.Go(func() {
				if got := took(name); got != time.Second {
					t.Errorf("%s took %v", name, got)
				}
			})
		}
		calls.Wait()
		s.Delay(0)
		if got := took("e"); got != 0 {
			t.Errorf("without a delay it took %v", got)
		}
	})
}

func TestAChangedDelayCountsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		client := s.Client(redlatch.Config{CommandTimeout: time.Hour, LeaseTime: 5 * time.Hour})
		s.Delay(time.Hour)
		began := time.Now()
		time.AfterFunc(time.Second, func() { s.Delay(0) })
		lock(t, client.Mutex("job"))
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestDeniedCommandsFailWithTheServersError(t *testing.T) {
	both(t, func(t *testing.T, cfg redlatch.Config) {
		s := redlatchtest.NewServer(t)
		client := s.Client(cfg)
		for _, commands := range [][]string{{}, {"evalsha"}, {"EVALSHA", "PTTL"}, {"hset", "HINCRBY"}} {
			allow := s.Deny(commands...)
			_, err := client.Mutex("job").Lock(t.Context())
			if err == nil || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("%q: the error is: %v", commands, err)
			}
			allow()
			hold := lock(t, client.Mutex("job"))
			allow()
			if err := hold.Unlock(context.Background()); err != nil {
				t.Errorf("%q: %v", commands, err)
			}
		}
	})
}

// Without messages a waiter asks now and then: it waits longer, but it is served.
func TestAWaiterIsServedWithoutMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := redlatchtest.NewServer(t)
		first, second := s.Client(redlatch.Config{}), s.Client(redlatch.Config{})
		hold := lock(t, first.Mutex("job"))
		s.Deny("SUBSCRIBE")
		time.AfterFunc(10*time.Second, func() { _ = hold.Unlock(context.Background()) })
		lock(t, second.Mutex("job"))
	})
}
