package session_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// A session that says too much is removed and written anew.

// spoil adds an entry that nobody has made, and lasts until the heartbeat that finds it.
func (s *stage) spoil() {
	synctest.Wait()
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

// Goal: a client of a cluster that takes and releases locks of other servers all the time sends its heartbeats in time,
// and what Redis has not heard of yet is no reason to write the session anew. Method: requests that take a while, and
// entries that come and go faster.
func TestABusyClientThatTellsAsideIsHeardInTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("kept")
		synctest.Wait()
		anew := s.whenWrittenAnew(func() {})
		s.driver.set(func() (request, reply bool) { time.Sleep(50 * time.Millisecond); return false, false })
		each := func(of int, change func(lock string)) {
			for i := range 20 {
				change(fmt.Sprint(of, " ", i))
			}
		}
		for began, i := time.Now(), 0; time.Since(began) < 3*lease; i++ {
			each(i, s.enter)
			time.Sleep(20 * time.Millisecond)
			each(i-1, s.leave)
			time.Sleep(time.Duration(i/100%2*(i%3)) * 50 * time.Millisecond) // at first not for as long as a request takes
			overdue, err := strconv.ParseFloat(s.do("ZSCORE", protocol.Sessions, s.client).Str, 64)
			if late := time.Now().UnixMilli() - int64(overdue); err != nil || late > 0 {
				t.Fatalf("after %v its heartbeat is late by %d ms, %v", time.Since(began), late, err)
			}
		}
		if *anew {
			t.Error("the session was written anew")
		}
		time.Sleep(second)
		if n := len(s.inRedis()); n != 21 {
			t.Errorf("in the end Redis has %d entries", n)
		}
	})
}

// Goal: what Redis is to forget does not pile up, however many locks a client of a cluster takes and releases at a time.
// Method: requests that take a while, and 2,000 entries that come and go meanwhile.
func TestWhatIsToldAsideDoesNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.driver.set(func() (request, reply bool) { time.Sleep(50 * time.Millisecond); return false, false })
		const busy = 2000
		for round := range 40 {
			for i := range busy {
				s.enter(fmt.Sprint(round, " ", i))
			}
			time.Sleep(50 * time.Millisecond)
			for _, key := range s.Keys() {
				s.Leave(key)
			}
		}
		if n := s.Kept(); n > 5*busy {
			t.Errorf("Redis is still to forget %d keys", n)
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
