package script_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// What does not fit into the table of mutex_test.go.

// Goal: a release is done even where the server refuses its message.
func TestAReleaseThatMayNotPublishStillFrees(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.CLI(t, "ACL", "SETUSER", "nopublish", "on", ">secret", "~*", "resetchannels", "+@all")
	s := connectWith(t, rueidis.Options{Address: redis.Addr(), Username: "nopublish", Password: "secret"})
	for what, call := range map[string]struct {
		call script.Call
		want string
	}{
		"release":  {release(me, 0)("job"), "-2"},
		"one hold": {release(me, 1)("job"), "-3"},
		"force":    {force("job"), "1"},
	} {
		s.put(t, "job", held(me, 2, old))
		reply := s.run(t, call.call)
		if got := label(call.call, reply); got != call.want {
			t.Errorf("%s: the reply is %s: %+v", what, got, reply)
		}
		if what == "one hold" {
			continue
		}
		if got := s.state(t, "job"); got.ttl != missing {
			t.Errorf("%s: it left %v", what, got)
		}
	}
	got, err := script.ReadReleased(driver.Reply{Int: -2})
	if err != nil || !got.Held || !got.PublishDenied || got.Told != 0 {
		t.Errorf("read as %+v, %v", got, err)
	}
}

func TestAReleaseSaysHowManyWereTold(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		for n := range 3 {
			s.put(t, key, held(me, 1, old))
			released, err := script.ReadReleased(s.run(t, release(me, 0)(key)))
			if err != nil || !released.Held || released.Told != n {
				t.Errorf("with %d listeners: %+v, %v", n, released, err)
			}
			s.listen(t, protocol.LockChannel(key))
		}
	})
}

func TestABatchIsRenewedEachForItsOwnerWithItsOwnLease(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		var batch []script.Renewal
		for i := range 100 {
			key := redistest.Name(t)
			batch = append(batch, script.Renewal{Lock: key, Field: me, Lease: lease + time.Duration(i)*10*second})
			switch i % 4 {
			case 0:
				s.put(t, key, held(me, 1, old))
			case 1:
				s.put(t, key, held(other, 1, old))
			case 2:
				s.put(t, key, state{"=x", old})
			}
		}
		kept := redistest.Must(script.ReadRenewed(s.run(t, script.Renew(batch)), len(batch)))
		for i, one := range batch {
			want := []state{held(me, 1, one.Lease), held(other, 1, old), {"=x", old}, {ttl: missing}}[i%4]
			if got := s.state(t, one.Lock); !got.is(want) || kept[i].Held != (i%4 == 0) {
				t.Errorf("lock %d: kept %+v, left %v, want %v", i, kept[i], got, want)
			}
		}
	})
}

func TestLeasesAreMillisecondsToTheLastDigit(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, lease := range []time.Duration{
			10 * time.Millisecond, 1234567 * time.Millisecond, 30*second + 999*time.Microsecond,
			100 * 365 * 24 * time.Hour,
		} {
			key := redistest.Name(t)
			before := time.Now()
			s.run(t, script.Mutex{Lock: key}.Acquire(me, script.Counts{Writes: 1}, lease, false))
			ttl := time.Duration(s.must(t, "PTTL", key).Int) * time.Millisecond
			if passed := time.Since(before); ttl > lease || ttl > 0 && ttl < lease-passed-2*time.Millisecond {
				t.Errorf("a lease of %v left the TTL %v after %v", lease, ttl, passed)
			}
		}
	})
}

// Whatever the server answers, a name or an owner goes there and back unchanged.
func TestNamesAndOwnersAreBytesToTheScripts(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, odd := range []string{"{tag}rest", "a{b", "x{}y", "鍵🔒", "two words", "'quo\"ted", "%s%d", "a*?[b]", strings.Repeat("x", 1024)} {
			key := odd + redistest.Name(t)
			owner := odd + ":1"
			s.run(t, script.Mutex{Lock: key}.Acquire(owner, script.Counts{Writes: 1}, lease, false))
			got, err := script.ReadAcquired(s.run(t, script.Mutex{Lock: key}.Acquire(me, script.Counts{Writes: 1}, lease, false)))
			if err != nil || got.Holder != owner {
				t.Errorf("%q: held by %q, %v", odd, got.Holder, err)
			}
			released, err := script.ReadReleased(s.run(t, script.Mutex{Lock: key, Channel: protocol.LockChannel(key), Via: protocol.Plain}.Release(owner, 0, script.Counts{}, lease)))
			if err != nil || !released.Held {
				t.Errorf("%q: released as %+v, %v", odd, released, err)
			}
		}
	})
}

func TestStatusReadsTheLastToken(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		for _, token := range []int64{1, 42, 9223372036854775807} {
			s.must(t, "SET", protocol.TokenKey(key), strconv.FormatInt(token, 10))
			got, err := (script.Mutex{}).ReadStatus(s.run(t, status(key)))
			if err != nil || got.Token != token {
				t.Errorf("the token is %d, %v; want %d", got.Token, err, token)
			}
		}
		s.must(t, "SET", protocol.TokenKey(key), "no number")
		if got, err := (script.Mutex{}).ReadStatus(s.run(t, status(key))); err != nil || got.Token != 0 {
			t.Errorf("beside a counter that is no number: %+v, %v; want no token", got, err)
		}
	})
}

// In the hash of Redisson's read-write lock the owner's field may be one of several. What a release deletes here is
// the hold of somebody else.
func TestReleaseDoesNotDeleteTheHoldsOfOthers(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		s.put(t, key, state{me + "=1 " + other + "=1 mode=read", old})
		s.run(t, release(me, 0)(key))
		if got := s.state(t, key); !strings.Contains(got.fields, other) {
			t.Errorf("it left %v: the hold of another is gone", got)
		}
	})
}

func TestRepliesThatNoScriptGivesAreErrors(t *testing.T) {
	t.Parallel()
	bulk := func(text string) driver.Reply { return driver.Reply{Str: text} }
	list := func(items ...driver.Reply) driver.Reply { return driver.Reply{Array: items} }
	broken := driver.Reply{Err: &driver.ServerError{Message: "ERR in the middle"}}
	odd := map[string]driver.Reply{
		"nil": {IsNil: true}, "a string": bulk("OK"), "an empty list": {Array: []driver.Reply{}}, "a number out of range": {Int: -99},
		"a list of three":      list(bulk("1"), bulk("2"), bulk("3")),
		"a list with an error": list(broken, broken),
	}
	readers := map[string]func(driver.Reply) error{
		"acquire": func(r driver.Reply) error { _, err := script.ReadAcquired(r); return err },
		"release": func(r driver.Reply) error { _, err := script.ReadReleased(r); return err },
		"renew":   func(r driver.Reply) error { _, err := script.ReadRenewed(r, 2); return err },
		"force":   func(r driver.Reply) error { _, err := script.ReadForced(r); return err },
		"status":  func(r driver.Reply) error { _, err := (script.Mutex{}).ReadStatus(r); return err },
	}
	for name, read := range readers {
		for what, reply := range odd {
			if read(reply) == nil {
				t.Errorf("%s: %s was taken for an answer", name, what)
			}
		}
	}
}

// A frozen catalogue of what goes over the wire: order, units and number of the words.
func TestCallsAreWrittenAsTheHeadersSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call script.Call
		want []string
	}{
		{script.Mutex{Lock: "k"}.Acquire("o", script.Counts{Writes: 2}, 1500*time.Millisecond, false), []string{"1", "k", "o", "1500", "2"}},
		{script.Mutex{Lock: "k", Channel: "c", Via: protocol.Plain}.Release("o", 0, script.Counts{Writes: 1}, 1500*time.Millisecond), []string{"1", "k", "o", "1", "1500", "c", "PUBLISH 0"}},
		{script.Mutex{Lock: "k", Channel: "c", Via: protocol.Plain}.MinHold("o:7", 1500*time.Millisecond, true), []string{"1", "k", "o:7", "o:-7", "1500", "c", "PUBLISH 0"}},
		{script.Mutex{Lock: "k", Channel: "c", Via: protocol.Plain}.MinHold("o:7", 1500*time.Millisecond, false), []string{"1", "k", "o:7", "o:-7", "1500", "", "PUBLISH 0"}},
		{script.NewRW("k", protocol.Plain).Move("o:7", "p:1", true, 1500*time.Millisecond),
			[]string{"3", "k", protocol.ReadTimeoutKey("k", "o:7", 1), protocol.ReadTimeoutKey("k", "p:1", 1), "o:7", "p:1", "1500"}},
		{script.NewRW("k", protocol.Plain).Move("o:7", "p:1", false, 1500*time.Millisecond), []string{"1", "k", "o:7:write", "p:1:write", "1500"}},
		{script.Renew([]script.Renewal{{Lock: "k", Field: "o", Lease: second, Note: "n"}, {Lock: "l", Field: "p", Lease: 2 * second, Knows: true}}),
			[]string{"2", "k", "l", "o", "", "0", "1000", "0", "n", "0", "p", "", "0", "2000", "0", "", "1"}},
		{script.Mutex{Lock: "k", Channel: "c", Via: protocol.Sharded}.Recall("o", "a\nb"),
			[]string{"2", "k", "redlatch:note:{k}:o", "o", "HEXISTS", "a\nb", "c", "SPUBLISH 2"}},
		{script.Mutex{Lock: "k", Channel: "c", Via: protocol.Sharded}.Force(""), []string{"1", "k", "c", "SPUBLISH 0"}},
		{script.Mutex{Lock: "k", Channel: "c", Via: protocol.Plain}.Force("o"), []string{"1", "k", "c", "PUBLISH 0", "o"}},
		{script.Mutex{Lock: "k"}.Status("")[0], []string{"2", "k", protocol.TokenKey("k")}},
	} {
		d := &fake{}
		script.NewRunner(d, second).Run(context.Background(), c.call)
		if got := d.requests[0].commands[0]; !slices.Equal(got.Words[2:], c.want) || got.Key != "k" || got.Words[0] != "EVALSHA" || len(got.Words[1]) != 40 {
			t.Errorf("%s: sent %q for the key %q, want %q", c.call.Script(), got.Words, got.Key, c.want)
		}
	}
}
