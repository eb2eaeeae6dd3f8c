package script_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Fencing tokens, as the scripts issue them.

// token acquires the lock and returns what came of it.
func (s *server) token(t *testing.T, key, owner string, count int, clock bool) script.Acquired {
	t.Helper()
	return redistest.Must(script.ReadAcquired(s.run(t, acquire(owner, count)(key).WithTokens(protocol.TokenKey(key), script.Tokens{Clock: clock}))))
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

// Goal: whoever spoils the counter of tokens spoils no lock: the acquisition is refused with
// NOTLOCK, takes nothing, and leaves the counter. Nothing and 0 are a counter. A lock that was taken all the same would
// be held by an owner that nobody knows of, for a whole lease.
func TestACounterThatCannotCountRefusesTheLock(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		counter := protocol.TokenKey(key)
		for value, want := range map[string]string{
			"-5": "error NOTLOCK", "x": "error NOTLOCK", "": "error NOTLOCK", "1.5": "error NOTLOCK", "1e3": "error NOTLOCK", " 1": "error NOTLOCK",
			"9007199254740991": "error NOTLOCK", "9007199254740992": "error NOTLOCK", "99999999999999999999": "error NOTLOCK", "a list": "error WRONGTYPE",
			"0": "{1}", "none": "{1}", "9007199254740990": "{9007199254740991}",
		} {
			for _, call := range []script.Call{
				acquire(me, 1)(key), rwAcquire("A", 1, 0)(key), rwAcquire("A", 0, 1)(key),
				script.NewFair(key, time.Minute, protocol.Plain).Acquire(me, script.Counts{Writes: 1}, lease, false),
			} {
				s.clearRW(t, key)
				write, read := []string{"SET", counter, value}, []string{"GET", counter}
				if value == "a list" {
					write[0], read = "RPUSH", []string{"LINDEX", counter, "0"}
				}
				if value != "none" {
					s.must(t, write...)
				}
				reply := s.run(t, call.WithTokens(counter, script.Tokens{}))
				got := label(call, reply)
				if acquired, err := script.ReadAcquired(reply); err == nil && acquired.Granted {
					got = fmt.Sprintf("{%d}", acquired.Token)
				}
				if got != want {
					t.Errorf("%s with the counter %q answers %s, want %s", call.Script(), value, got, want)
				}
				if want[0] == '{' {
					continue
				}
				if left := s.must(t, "KEYS", "*"+key+"*").Array; len(left) != 1 || s.must(t, read...).Str != value {
					t.Errorf("%s with the counter %q left %v, and the counter %q", call.Script(), value, left, s.must(t, read...).Str)
				}
			}
		}
		s.clearRW(t, key)
	})
}

// Goal: the token of a read hold is issued by the key behind its timeout keys, whatever its
// number; and each grant of a read-write lock counts, re-entry included.
func TestEveryGrantOfAReadWriteLockCountsTheSameCounter(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		for i, call := range []rwCall{
			rwAcquire("A", 1, 0), rwAcquire("A", 2, 0), rwAcquire("A", 2, 1), rwAcquire("A", 2, 2), rwRelease("A", 2, 0, 2), rwAcquire("A", 0, 3), rwAcquire("B", 0, 1),
		} {
			if i == 4 {
				s.run(t, call(key))
				continue
			}
			want := int64(i + 1)
			if i > 4 {
				want--
			}
			got, err := script.ReadAcquired(s.run(t, call(key).WithTokens(protocol.TokenKey(key), script.Tokens{})))
			if err != nil || !got.Granted || got.Token != want {
				t.Errorf("grant %d is %+v, %v; want the token %d", i, got, err, want)
			}
		}
		if got, want := s.rw(t, key), "read A=3 B=1 lease / A1lease A2lease A3lease B1lease"; got != want {
			t.Errorf("it left %q, want %q", got, want)
		}
	})
}
