package script_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: the script answers as its header says, a repetition is no second run, and no more than a thousand times are kept.
func TestTimesOfAJobAreNotedOnce(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		const name = "ran"
		key := protocol.RunsKey(name)
		s.must(t, "DEL", key)
		ask := func(due, token int64) bool {
			ran, err := script.ReadRan(s.run(t, script.Ran(name, time.UnixMilli(due), token)))
			if err != nil {
				t.Fatal(err)
			}
			return ran
		}
		for i, want := range []struct {
			due, token int64
			ran        bool
		}{
			{60000, 0, false}, {60000, 7, false}, {60000, 7, false}, {60000, 0, true}, {60000, 8, true}, {120000, 0, false},
			{120000, 1700000000000001, false}, {120000, 1700000000000001, false}, {120000, 1700000000000002, true},
		} {
			if ask(want.due, want.token) != want.ran {
				t.Errorf("question %d is answered wrongly: %+v", i, want)
			}
		}
		for n := range int64(1005) {
			ask(1000000+n, 10+n)
		}
		if n := s.must(t, "ZCARD", key).Int; n != 1000 {
			t.Errorf("%d times are kept", n)
		}
		if !ask(120000, 0) || ask(60000, 0) {
			t.Error("the oldest run is kept, or the newest one is not")
		}
		if ttl := s.must(t, "PTTL", key).Int; ttl <= 0 || ttl > (7*24*time.Hour).Milliseconds() {
			t.Errorf("the TTL is %s ms", strconv.FormatInt(ttl, 10))
		}
		s.must(t, "DEL", key)
		s.must(t, "SET", key, "x")
		if _, err := script.ReadRan(s.run(t, script.Ran(name, time.UnixMilli(1), 1))); err == nil {
			t.Error("a key of another type is accepted")
		}
		s.must(t, "DEL", key)
	})
}
