package faults_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: what is released for a waiter that has left does not take the lock away from the
// same owner's next hold, which is the same field in Redis. Method: waits so short that many
// end just while a release hands the lock over, and owners that ask again at once. Where the
// lock was taken away, the next release finds it gone.
func TestAGrantThatIsGivenBackDoesNotEndTheSameOwnersNextHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{})
	m := c.Mutex(redistest.Name(t))
	var losses, rounds, vain atomic.Int64
	end := time.Now().Add(2 * time.Second)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			ctx := c.WithOwner(t.Context())
			for time.Now().Before(end) {
				h, err := m.TryLock(ctx, redlatch.WithWait(time.Duration(200+rounds.Load()%7*150)*time.Microsecond))
				if err != nil {
					vain.Add(1)
					continue
				}
				rounds.Add(1)
				if err := h.Unlock(ctx); errors.Is(err, redlatch.ErrLost) {
					losses.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d holds, %d tries in vain", rounds.Load(), vain.Load())
	if losses.Load() > 0 {
		t.Errorf("%d of %d holds were lost", losses.Load(), rounds.Load())
	}
}

// A request whose reply is lost takes the lock, and the server refuses its repetition for good:
// it is full, or its replicas are gone.

const noReplicas = "NOREPLICAS Not enough good replicas to write."

// loseThenRefuse has the first scripts carried out and their reply lost. Then it refuses those
// that match.
func loseThenRefuse(match func(n int) bool) stage.Around {
	n := 0
	return func(commands []driver.Command, send stage.Sender) []driver.Reply {
		if n++; n == 1 {
			send(commands...)
			return stage.FailAll(commands, errors.New("connection cut"))
		}
		return stage.Refusing(noReplicas, func(c driver.Command) bool { return stage.Changing(c) && match(n) })(commands, send)
	}
}

// Goal: it is released at once, and does not stay for a lease.
func TestWhatWasTakenBeforeARefusalIsGivenBack(t *testing.T) {
	stage.EachWay(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		net := s.Tap()
		net.Set(loseThenRefuse(func(n int) bool { return n == 2 }))
		_, err := k.Lock(s.Client, "job").TryLock(s.Limited())
		wantServersError(t, "TryLock", err, "NOREPLICAS")
		if errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Error("TryLock is", err, "although it was released")
		}
		if s.Taken(k) {
			t.Error("the lock stays")
		}
	})
}

// Goal: nobody is told that nothing was taken if the request that releases it is refused, too.
func TestAGiveBackThatIsRefusedIsNotAConfirmation(t *testing.T) {
	stage.EachWay(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		net := s.Tap()
		net.Set(loseThenRefuse(func(int) bool { return true }))
		_, err := k.Lock(s.Client, "job").TryLock(s.Limited())
		wantServersError(t, "TryLock", err, "NOREPLICAS")
		if !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Error("TryLock is", err, "although the lock stays")
		}
	})
}

// Goal: the same for members that one script takes. Before, they were asked for one by one,
// behind what the first request had taken.
func TestMembersTakenBeforeARefusalAreGivenBack(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		s.Teach(stage.Kind{Lock: stage.MultiOf, Rival: stage.MultiOf})
		net := s.Tap()
		net.Set(loseThenRefuse(func(n int) bool { return n == 2 }))
		_, err := stage.MultiOf(s.Client, "job").TryLock(s.Limited())
		wantServersError(t, "TryLock", err, "NOREPLICAS")
		if keys := s.Memory.Miniredis().Keys(); len(keys) > 0 {
			t.Error("there are", keys)
		}
	})
}
