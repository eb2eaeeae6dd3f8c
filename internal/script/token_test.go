package script_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Fencing tokens, as the scripts issue them.

// token acquires the lock and returns what came of it.
func (s *server) token(t *testing.T, key, owner string, count int, clock bool) script.Acquired {
	t.Helper()
	got, err := script.ReadAcquired(s.run(t, acquire(owner, count)(key).WithToken(protocol.TokenKey(key), clock)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTokensCountEveryGrantAndNothingElse(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		for want := int64(1); want <= 3; want++ {
			if got := s.token(t, key, me, 1, false); !got.Granted || got.Token != want {
				t.Errorf("acquired as %+v, want the token %d", got, want)
			}
			if got := s.state(t, key); !got.is(held(me, 1, lease)) {
				t.Errorf("it left %v", got)
			}
			if got := s.token(t, key, other, 1, false); got.Granted || got.Holder != me {
				t.Errorf("acquired by two as %+v", got)
			}
			if got := s.run(t, acquire(me, 1)(key)); label(acquire(me, 1)(key), got) != "1" {
				t.Errorf("without a token the reply is %+v", got)
			}
			s.run(t, release(me, 0)(key))
			if got := s.token(t, key, me, 2, false); !got.Gone {
				t.Errorf("re-entered what is gone as %+v", got)
			}
		}
		if got := s.must(t, "GET", protocol.TokenKey(key)).Str; got != "3" {
			t.Errorf("the counter is %q after 3 grants", got)
		}
		if got := s.must(t, "PTTL", protocol.TokenKey(key)).Int; got != -1 {
			t.Errorf("the counter has the TTL %d", got)
		}
	})
}

func TestTokensByTheClockAreNeverBelowTheTimeOfTheServer(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		last := int64(0)
		for _, lost := range []string{"", "", "7", "0"} { // what a failover left of the counter
			if lost != "" {
				s.must(t, "SET", protocol.TokenKey(key), lost)
			}
			before := time.Now()
			got := s.token(t, key, me, 1, true)
			if at := time.UnixMicro(got.Token); at.Before(before.Add(-second)) || at.After(time.Now().Add(second)) || got.Token <= last {
				t.Errorf("the token is %d, of %v; the one before was %d", got.Token, at, last)
			}
			if stored := s.must(t, "GET", protocol.TokenKey(key)).Str; stored != strconv.FormatInt(got.Token, 10) {
				t.Errorf("the counter is %q and the token %d", stored, got.Token)
			}
			last = got.Token
		}
		ahead := time.Now().Add(time.Hour).UnixMicro()
		s.must(t, "SET", protocol.TokenKey(key), strconv.FormatInt(ahead, 10))
		if got := s.token(t, key, me, 1, true); got.Token != ahead+1 {
			t.Errorf("a counter that is ahead of the clock gave %d, want one more than %d", got.Token, ahead)
		}
	})
}

// The promise of every error reply: it has not happened. A lock that was taken all the
// same would be held by an owner that nobody knows of, for a whole lease.
func TestAnAcquisitionWhoseTokenCannotBeIssuedTakesNothing(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key, words := redistest.Name(t), [][]string{
			{"SET", "", "no number"}, {"SET", "", "9223372036854775807"}, {"RPUSH", "", "a list"},
		}
		for _, spoil := range words {
			spoil[1] = protocol.TokenKey(key)
			s.must(t, "DEL", spoil[1])
			s.must(t, spoil...)
			for _, call := range []script.Call{
				acquire(me, 1)(key),
				script.AcquireRW(key, me, script.Counts{Writes: 1}, lease),
				script.AcquireRW(key, me, script.Counts{Reads: 1}, lease),
				script.NewFair(key, time.Minute, protocol.Plain).Acquire(me, lease, 1, true),
			} {
				s.must(t, "DEL", key)
				reply := s.run(t, call.WithToken(protocol.TokenKey(key), false))
				if reply.Err == nil {
					t.Errorf("%s with the counter %q: %+v", call.Script(), spoil[2], reply)
				}
				if got := s.state(t, key); got.ttl != missing {
					t.Errorf("%s with the counter %q: the reply is an error, and it left %v", call.Script(), spoil[2], got)
				}
			}
		}
		s.Do(context.Background(), driver.Command{Words: []string{"DEL", key}, Key: key})
	})
}
