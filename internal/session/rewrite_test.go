package session_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// A session that says too much is removed and written anew.

// spoil adds an entry that nobody has made, and lasts until the heartbeat that finds it.
func (s *stage) spoil() {
	s.do("HSET", protocol.SessionKey(s.client), "c:9 x", "exclusive 1 1 0")
	time.Sleep(lease/6 + 10*time.Millisecond)
	synctest.Wait()
}

// whenWrittenAnew calls f once, before the request that removes the session leaves.
func (s *stage) whenWrittenAnew(f func()) (called *bool) {
	called = new(bool)
	s.driver.mu.Lock()
	defer s.driver.mu.Unlock()
	s.driver.before = func(commands []driver.Command) {
		if len(commands) > 2 && !*called {
			*called = true
			f()
		}
	}
	return called
}

// Goal: what is entered meanwhile is not forgotten, though its note came before the removal.
func TestWhatIsEnteredWhileASessionIsWrittenAnewIsToldAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("a")
		called := s.whenWrittenAnew(func() { s.enter("b") })
		s.spoil()
		s.wantInRedis("after it was written anew", "c:1 a", "c:1 b")
		if !*called {
			t.Error("it was not written anew: the test tests nothing")
		}
	})
}

// Goal: what leaves meanwhile does not come back, though its note comes after the forgetting.
func TestWhatLeavesWhileASessionIsWrittenAnewStaysAway(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("a")
		s.enter("b")
		called := s.whenWrittenAnew(func() { s.leave("b") })
		s.spoil()
		s.wantInRedis("after it was written anew", "c:1 a")
		if !*called {
			t.Error("it was not written anew: the test tests nothing")
		}
	})
}

// Goal: nothing is missing of a session that needs several requests, nor is a paused process
// without its first entries for a moment: they are in the request that removes it.
func TestLongALargeSessionIsWrittenAnewWhole(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		var want []string
		for i := range 1200 {
			lock := fmt.Sprint(i)
			s.enter(lock)
			want = append(want, entryOf(lock).Key())
		}
		slices.Sort(want)
		s.whenWrittenAnew(func() {})
		s.spoil()
		if got := s.inRedis(); !slices.Equal(got, want) {
			t.Errorf("Redis has %d entries, want %d", len(got), len(want))
		}
		if s.named() != s.Pulse() {
			t.Errorf("it names the pulse %q, not %q", s.named(), s.Pulse())
		}
	})
}
