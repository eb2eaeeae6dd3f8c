package script_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: each call replaces what was told before, whatever stands there, and repeating it is harmless.
func TestAClientTellsItsWaits(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		client := redistest.Name(t)
		key := protocol.WaitsKey(client)
		first := script.Wait{Owner: client + ":1", Lock: "a job", Mode: protocol.WaitExclusive, Since: time.UnixMilli(5000)} // as an older client
		second := script.Wait{Owner: client + ":2", Lock: "book", Mode: protocol.WaitWrite, Since: time.UnixMilli(6000), Confirmed: time.UnixMilli(7000), Under: []string{client + ":1", client + ":7"}}
		for _, step := range []struct {
			what  string
			tells []script.Wait
			reply string
		}{
			{"nothing", nil, "0"},
			{"one", []script.Wait{first}, "1"},
			{"the same again", []script.Wait{first}, "1"},
			{"two", []script.Wait{first, second}, "1"},
			{"another", []script.Wait{second}, "1"},
			{"none", nil, "1"},
			{"none again", nil, "0"},
		} {
			call := script.SessionWaits(client, lease, step.tells...)
			if got := label(call, s.run(t, call)); got != step.reply {
				t.Errorf("%s: the reply is %s, want %s", step.what, got, step.reply)
			}
			got, leftOut, err := script.ReadWaitsOf(client, s.run(t, script.ReadWaits(client)))
			slices.SortFunc(got, func(a, b script.Wait) int { return a.Since.Compare(b.Since) })
			same := slices.EqualFunc(got, step.tells, func(a, b script.Wait) bool {
				return a.Owner == b.Owner && a.Lock == b.Lock && a.Mode == b.Mode && a.Since.Equal(b.Since) && a.Confirmed.Equal(b.Confirmed) && slices.Equal(a.Under, b.Under)
			})
			if !same || leftOut > 0 || err != nil {
				t.Errorf("%s: read back as %v, %d left out, %v", step.what, got, leftOut, err)
			}
			if ttl := s.must(t, "PTTL", key).Int; len(step.tells) > 0 && (ttl <= 0 || ttl > lease.Milliseconds()) {
				t.Errorf("%s: it expires in %d ms", step.what, ttl)
			}
		}
		s.put(t, key, state{"=x", old})
		if _, _, err := script.ReadWaitsOf(client, s.run(t, script.ReadWaits(client))); err == nil {
			t.Error("a string was taken for waits")
		}
		s.run(t, script.SessionWaits(client, lease, first))
		if waits, _, err := script.ReadWaitsOf(client, s.run(t, script.ReadWaits(client))); err != nil || len(waits) != 1 {
			t.Errorf("in the place of a string there are %v, %v", waits, err)
		}
	})
}

// The sets are shared by all tests of a server, so this goes by its own clients.
func TestTheProtectedClientsAreKnown(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		client := redistest.Name(t)
		long := client + string(make([]byte, protocol.MaxClientLen))
		s.must(t, "ZADD", protocol.Sessions, "9e15", client, "8e15", long)
		defer s.must(t, "ZREM", protocol.Sessions, client, long)
		known, err := script.ReadKnown(s.run(t, script.SessionsKnown(1000)))
		if err != nil || !s.near(t, known.Now) || !slices.Contains(known.Clients, client) || slices.Contains(known.Clients, long) || known.All < 2 {
			t.Errorf("known are %+v, %v", known, err)
		}
		if one, err := script.ReadKnown(s.run(t, script.SessionsKnown(1))); err != nil || len(one.Clients) > 1 {
			t.Errorf("more than asked for: %+v, %v", one, err)
		}
	})
}
