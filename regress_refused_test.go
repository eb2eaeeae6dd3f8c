package redlatch_test

import (
	"errors"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// A request whose reply is lost takes the lock, and the server refuses its repetition for good:
// it is full, or its replicas are gone.

const noReplicas = "NOREPLICAS Not enough good replicas to write."

// loseThenRefuse has the first scripts carried out and their reply lost. Then it refuses those
// that match.
func loseThenRefuse(match func(n int) bool) around {
	n := 0
	return func(commands []driver.Command, send sender) []driver.Reply {
		if n++; n == 1 {
			send(commands...)
			return failAll(commands, errors.New("connection cut"))
		}
		return refusing(noReplicas, func(c driver.Command) bool { return scripted(c) && match(n) })(commands, send)
	}
}

// Goal: it is given back at once, and does not stay for a lease.
func TestWhatWasTakenBeforeARefusalIsGivenBack(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		net := s.tap()
		net.set(loseThenRefuse(func(n int) bool { return n == 2 }))
		_, err := k.lock(s.client, "job").TryLock(s.limited())
		wantServersError(t, "TryLock", err, "NOREPLICAS")
		if errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Error("TryLock is", err, "although it was given back")
		}
		if s.memory.Miniredis().Exists("job") {
			t.Error("the lock stays")
		}
	})
}

// Goal: nobody is told that nothing was taken if the request that gives it back is refused, too.
func TestAGiveBackThatIsRefusedIsNotAConfirmation(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		net := s.tap()
		net.set(loseThenRefuse(func(int) bool { return true }))
		_, err := k.lock(s.client, "job").TryLock(s.limited())
		wantServersError(t, "TryLock", err, "NOREPLICAS")
		if !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Error("TryLock is", err, "although the lock stays")
		}
	})
}

// Goal: the same for members that one script takes. Before, they were asked for one by one,
// behind what the first request had taken.
func TestMembersTakenBeforeARefusalAreGivenBack(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		s.teach(lockKind{lock: multiOf, rival: multiOf})
		net := s.tap()
		net.set(loseThenRefuse(func(n int) bool { return n == 2 }))
		_, err := multiOf(s.client, "job").TryLock(s.limited())
		wantServersError(t, "TryLock", err, "NOREPLICAS")
		if keys := s.memory.Miniredis().Keys(); len(keys) > 0 {
			t.Error("there are", keys)
		}
	})
}
