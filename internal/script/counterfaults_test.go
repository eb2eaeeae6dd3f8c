package script_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// The scripts on counters and permits on servers that refuse a part of them.

// Goal: on a server without memory renewals and releases work, and nothing happens by half.
func TestWithoutMemoryPermitsAreKeptAndReturned(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	for _, c := range []counterRow{
		{"take a permit", "2", takeOne, "error OOM", "2", "", ""},
		{"extend", "0 | 1=old", extend, "1", "0 | 1=lease", "", ""},
		{"extend with a TTL", "0ttl | 1=old", extend, "1", "0lease | 1=lease", "", ""},
		{"give back", "0 | 1=old 2=old", giveBack, "n >= 0", "1 | 2=old", "", ""},
		{"take", "5", takeN(2), "n > 0", "3 7:2", "", ""},
		{"put back", "3", add(2), "n >= 0", "5 7:0", "", ""},
		{"cancel", "3 7:2", undo, "1", "5 7:0", "", ""},
		{"cancel what was not carried out", "5", undo, "0", "5 7:0", "", ""},
		{"set what is there", "5", set, "0", "5 7:0", "", ""},
		{"drain nothing", "0", drain, "0", "0 7:0", "", ""},
		{"open", "1", countDown, "n >= 0", " 7:0", "", ""},
		{"count down an open latch", "", countDown, "n >= 0", " 7:0", "", ""},
		{"cancel what was refused", "1", undo, "0", "1 7:0", "", ""},
	} {
		s.must(t, "CONFIG", "SET", "maxmemory", "0")
		s.putCounter(t, "job", c.given)
		s.must(t, "SCRIPT", "LOAD", c.call("job").Source())
		s.must(t, "CONFIG", "SET", "maxmemory", "1")
		wantLeft(t, c.what, counterReply(c.call("job"), s.run(t, c.call("job"))), c.reply, s.counter(t, "job"), c.then)
	}
}

// wantLeft checks a reply, and what a script left in Redis.
func wantLeft(t *testing.T, what, reply, wantReply, left, want string) {
	t.Helper()
	if reply != wantReply {
		t.Errorf("%s: the reply is %s, want %s", what, reply, wantReply)
	}
	if left != want {
		t.Errorf("%s: it left %q, want %q", what, left, want)
	}
}

// Goal: a user who may not publish returns permits, and is told that nobody was.
func TestPermitsAreReturnedWhereNobodyMayBeTold(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.CLI(t, "ACL", "SETUSER", "nopublish", "on", ">secret", "~*", "resetchannels", "+@all")
	s := connectWith(t, rueidis.Options{Address: redis.Addr(), Username: "nopublish", Password: "secret"})
	for _, c := range []counterRow{
		{"put back", "3", add(2), "-2", "5 7:0", "", ""},
		{"give back", "0 | 1=old", giveBack, "-2", "1", "", ""},
		{"take of the dead", "1 | 2=dead", takeOne, "1", "1 | 1=lease", "", ""},
		{"cancel", "3 7:2", undo, "1", "5 7:0", "", ""},
		{"open", "1", countDown, "n >= 0", " 7:0", "", ""},
	} {
		s.putCounter(t, "job", c.given)
		wantLeft(t, c.what, counterReply(c.call("job"), s.run(t, c.call("job"))), c.reply, s.counter(t, "job"), c.then)
	}
}

// Goal: a server that refuses to note a permit in use keeps it available, and one that refuses to
// extend a lease confirms nothing.
func TestAServerThatRefusesToNoteAPermitLosesNone(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.CLI(t, "ACL", "SETUSER", "addless", "on", ">secret", "~*", "&*", "+@all", "-zadd")
	s := connectWith(t, rueidis.Options{Address: redis.Addr(), Username: "addless", Password: "secret"})
	admin := connect(t, redis.Addr())
	admin.putCounter(t, "job", "2 | 2=old")
	if r := s.run(t, takeOne("job")); r.Err == nil {
		t.Errorf("taken: %+v", r)
	}
	if got := admin.counter(t, "job"); got != "2 | 2=old" {
		t.Errorf("it left %q", got)
	}
	admin.putCounter(t, "job", "2 | 1=old")
	if got, err := script.ReadRenewed(s.run(t, extend("job")), 1); err != nil || !got[0].Held || got[0].Err == nil {
		t.Errorf("renewed as %+v, %v", got, err)
	}
}

// Goal: a server that refuses to raise the counter keeps in use what would be put back.
func TestAServerThatRefusesToCountLosesNoPermit(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.CLI(t, "ACL", "SETUSER", "countless", "on", ">secret", "~*", "&*", "+@all", "-incrby")
	s := connectWith(t, rueidis.Options{Address: redis.Addr(), Username: "countless", Password: "secret"})
	admin := connect(t, redis.Addr())
	for _, c := range []counterRow{
		{"take a permit of the dead", "2 | 2=dead 3=dead 4=old", takeOne, "2", "2 | 2=dead 3=dead 4=old", "", ""},
		{"give back", "0 | 1=old 2=old", giveBack, "0", "0 | 1=old 2=old", "", ""},
	} {
		admin.putCounter(t, "job", c.given)
		if r := s.run(t, c.call("job")); r.Err == nil {
			t.Errorf("%s: %+v", c.what, r)
		}
		if got := admin.counter(t, "job"); strings.ReplaceAll(got, "=never", "=dead") != c.then {
			t.Errorf("%s: it left %q, want %q", c.what, got, c.then)
		}
	}
}

// Goal: the permits in use do not end before the counter, also if its TTL is taken away. Java does that
// when it adds permits.
func TestPermitsInUseOutliveATTLThatTheCounterHadBefore(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for what, call := range map[string]func(string) script.Call{"extend": extend, "take": takeOne} {
			key := redistest.Name(t)
			s.putCounter(t, key, "2ttl | 1=old")
			s.run(t, call(key))
			s.must(t, "PERSIST", key)
			s.run(t, call(key))
			if got, want := s.counter(t, key), "2 | 1=lease"; got != want {
				t.Errorf("%s: it left %q, want %q", what, got, want)
			}
		}
	})
}

// Goal: a replica confirms nothing.
func TestAReplicaConfirmsNoPermit(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := connectBlindly(t, redis)
	s.putCounter(t, "job", "2 7:3 | 1=old")
	redis.CLI(t, "REPLICAOF", "127.0.0.1", "1")
	for _, call := range []script.Call{takeOne("job"), extend("job"), giveBack("job"), add(1)("other"), drain("job")} {
		result, err := script.NewRunner(s, 400*ms).Run(context.Background(), call)
		if call.Script() == "semaphore_drain" && err == nil && result.Reply.Int == 3 {
			continue // it was answered before
		}
		if refused, ok := errors.AsType[*driver.ServerError](err); !ok || refused.Code() != "READONLY" {
			t.Errorf("%s answers %+v, %v", call.Script(), result.Reply, err)
		}
	}
}
