package script_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: on a server without memory nothing is confirmed that is not there, and releases work.
// Method: a server of its own whose maxmemory is exceeded, which evicts nothing.
func TestWithoutMemoryNothingIsConfirmedThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	fenced := func(call rwCall) rwCall {
		return func(key string) script.Call {
			return call(key).WithTokens(protocol.TokenKey(key), script.Tokens{Clock: true})
		}
	}
	confirmed := func(call rwCall) rwCall { return func(key string) script.Call { return call(key).Writing() } }
	for _, c := range []struct {
		what, given string
		call        rwCall
		reply, then string
	}{
		{"write", "", rwAcquire("A", 1, 0), "error OOM", ""},
		{"write, fenced", "", fenced(rwAcquire("A", 1, 0)), "error OOM", ""},
		{"write once more", "write A:write=1 old", rwAcquire("A", 2, 0), "error OOM", "write A:write=1 old"},
		{"read", "read B=1 old / B1old", rwAcquire("A", 0, 1), "error OOM", "read B=1 old / B1old"},
		{"read, fenced", "read B=1 old / B1old", fenced(rwAcquire("A", 0, 1)), "error OOM", "read B=1 old / B1old"},
		{"read once more", "read A=1 old / A1old", rwAcquire("A", 0, 2), "error OOM", "read A=1 old / A1old"},
		{"read inside writing", "write A:write=1 old", rwAcquire("A", 1, 1), "error OOM", "write A:write=1 old"},
		// Redis finishes what has begun with a write that frees memory.
		{"write beside the dead", "read B=1 old", rwAcquire("A", 1, 0), "1", "write A:write=1 lease"},

		{"renew reading", "read A=2 old / A1old A2old", rwRenew("A", 0, 2), "1", "read A=2 lease / A1lease A2lease"},
		{"renew reading, for replicas to confirm", "read A=2 long / A1old A2old", confirmed(rwRenew("A", 0, 2)), "1", "read A=2 long / A1lease A2lease"},
		{"renew reading whose keys are gone", "read A=2 old / A2old", rwRenew("A", 0, 2), "1", "read A=2 lease / A1lease A2lease"},
		{"renew reading for less", "read A=2 long / A2old", rwRenew("A", 0, 2), "1", "read A=2 long / A1lease A2lease"},
		{"renew when the end of writing was lost", "write A:write=1 A=1 long / A1old", rwRenew("A", 0, 1), "1", "read A=1 long / A1long"},
		{"renew writing", "write A:write=1 old", rwRenew("A", 1, 0), "1", "write A:write=1 lease"},

		{"move reading", "read A=1 old / A1old", rwMove(true), "n > 0", "read B=1 lease / B1lease"},
		{"move reading for less", "read A=1 long / A1long", rwMove(true), "n > 0", "read B=1 long / B1long"},
		{"move writing", "write A:write=1 old", rwMove(false), "n > 0", "write B:write=1 lease"},

		{"end writing", "write A:write=1 old", rwRelease("A", 0, 0, 0), "n >= 0", ""},
		{"end one of two writes", "write A:write=2 old", rwRelease("A", 0, 1, 0), "-3", "write A:write=1 lease"},
		{"end one of two writes, for less", "write A:write=2 long", rwRelease("A", 0, 1, 0), "-3", "write A:write=1 long"},
		{"end writing but read", "write A:write=1 A=1 old / A1old", rwRelease("A", 1, 0, 1), "n >= 0", "read A=1 lease / A1lease"},
		{"end writing but read, with the key gone", "write A:write=1 A=1 long", rwRelease("A", 1, 0, 1), "n >= 0", "read A=1 long / A1long"},
		{"end writing among readers", "write A:write=1 B=1 old / B1old", rwRelease("A", 0, 0, 0), "n >= 0", "read B=1 old / B1old"},
		{"end reading", "read A=1 B=1 old / A1old B1old", rwRelease("A", 1, 0, 0), "-3", "read B=1 old / B1old"},
		{"end one of two reads", "read A=2 long / A1old A2old", rwRelease("A", 2, 0, 1), "-3", "read A=1 long / A1lease"},
		{"force", "read A=1 old / A1old", rwForce(""), "1", ""},
		{"force a write", "write A:write=1 A=1 old / A1old", rwForce("A:write"), "1", "read A=1 old / A1old"},
	} {
		s.must(t, "CONFIG", "SET", "maxmemory", "0")
		s.putRW(t, "job", c.given)
		s.must(t, "SCRIPT", "LOAD", c.call("job").Source())
		s.must(t, "CONFIG", "SET", "maxmemory", "1")
		if got := rwReply(c.call("job"), s.run(t, c.call("job"))); got != c.reply {
			t.Errorf("%s: the reply is %s, want %s", c.what, got, c.reply)
		}
		if got := s.rw(t, "job"); got != c.then {
			t.Errorf("%s: it left %q, want %q", c.what, got, c.then)
		}
	}
	for _, c := range []struct {
		what  string
		given state
		call  script.Call
		reply string
		then  state
	}{
		{"acquire", state{}, acquire(me, 1)("mutex"), "error OOM", state{ttl: missing}},
		{"acquire, fenced", state{}, acquire(me, 1)("mutex").WithTokens("counter", script.Tokens{Clock: true}), "error OOM", state{ttl: missing}},
		{"re-enter", held(me, 1, old), acquire(me, 2)("mutex"), "error OOM", held(me, 1, old)},
		{"acquire all", state{}, script.AcquireAll([]string{"mutex", "mutex2"}, []string{me, me}, lease), "error OOM", state{ttl: missing}},
		{"renew", held(me, 1, old), renew(me)("mutex"), "1", held(me, 1, lease)},
		{"release", held(me, 1, old), release(me, 0)("mutex"), "n >= 0", state{ttl: missing}},
		{"release one", held(me, 2, 2*lease), release(me, 1)("mutex"), "-3", held(me, 1, 2*lease)},
		{"force", held(me, 1, old), force("mutex"), "1", state{ttl: missing}},
	} {
		s.must(t, "CONFIG", "SET", "maxmemory", "0")
		s.put(t, "mutex", c.given)
		s.must(t, "SCRIPT", "LOAD", c.call.Source())
		s.must(t, "CONFIG", "SET", "maxmemory", "1")
		if got := label(c.call, s.run(t, c.call)); got != c.reply {
			t.Errorf("%s: the reply is %s, want %s", c.what, got, c.reply)
		}
		if got := s.state(t, "mutex"); !got.is(c.then) {
			t.Errorf("%s: it left %v, want %v", c.what, got, c.then)
		}
		if got := s.must(t, "EXISTS", "counter", "mutex2").Int; got != 0 {
			t.Errorf("%s: it left other keys", c.what)
		}
	}
}

// Goal: a renewal that may not make a timeout key again does not say that all is well. Method:
// a user whom the server forbids SET.
func TestARenewalIsNotConfirmedWhereATimeoutKeyIsRefused(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.CLI(t, "ACL", "SETUSER", "setless", "on", ">secret", "~*", "&*", "+@all", "-set")
	s := connectWith(t, rueidis.Options{Address: redis.Addr(), Username: "setless", Password: "secret"})
	admin := connect(t, redis.Addr())
	admin.putRW(t, "job", "read A=2 old / A2old")
	admin.put(t, "mutex", held(me, 1, old))
	batch := []script.Renewal{script.NewRW("job", protocol.Plain).Renewal(me, script.Counts{Reads: 2}, false, lease), {Lock: "mutex", Field: me, Lease: lease}}
	got, err := script.ReadRenewed(s.run(t, script.Renew(batch)), 2)
	if err != nil || !got[0].Held || got[0].Err == nil || !got[1].Held || got[1].Err != nil {
		t.Errorf("renewed as %+v, %v; want an error for the first alone", got, err)
	}
	if got := admin.state(t, "mutex"); !got.is(held(me, 1, lease)) {
		t.Errorf("the mutex beside it is %v", got)
	}
}

// Goal: a server that may not write confirms no renewal, even one that would change nothing:
// what it says may be long out of date. Method: a replica; and a master that has lost its own.
func TestARenewalThatChangesNothingIsNotConfirmedByAServerThatMayNotWrite(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := connectBlindly(t, redis)
	for code, set := range map[string][2][]string{
		"READONLY":   {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
		"NOREPLICAS": {{"CONFIG", "SET", "min-replicas-to-write", "1"}, {"CONFIG", "SET", "min-replicas-to-write", "0"}},
	} {
		s.put(t, "mutex", held(me, 1, 2*lease))
		s.putRW(t, "job", "read A=1 long / A1long")
		redis.CLI(t, set[0]...)
		for _, call := range []script.Call{renew(me)("mutex"), rwRenew("A", 0, 1)("job"), acquire(me, 1)("mutex"), rwAcquire("A", 0, 1)("job")} {
			result, err := script.NewRunner(s, 400*ms).Run(context.Background(), call)
			if err == nil {
				err = result.Reply.Err
			}
			var refused *driver.ServerError
			if !errors.As(err, &refused) || refused.Code() != code {
				t.Errorf("%s: %s answers %+v, %v", code, call.Script(), result.Reply, err)
			}
		}
		redis.CLI(t, set[1]...)
	}
}

// Goal: only a primary may say that somebody holds nothing, or that a latch is open. Method: a former
// primary that has come back as a replica without data.
func TestAServerThatMayNotWriteDoesNotSayThatNothingIsHeld(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := connectBlindly(t, redis)
	const owner = "c:1"
	two, fair, rw := script.Counts{Writes: 2}, script.NewFair("fair", second, protocol.Plain), script.NewRW("rw", protocol.Plain)
	mutex := script.Mutex{Lock: "mutex", Channel: "c", Via: protocol.Plain}
	calls := []script.Call{
		renew(me)("mutex"), rwRenew("A", 0, 1)("rw"), script.Renew([]script.Renewal{permits("p").Renewal(permit1, script.Counts{}, false, second)}),
		mutex.Acquire(owner, two, second, false), mutex.Release(owner, 0, script.Counts{}, second),
		mutex.Release(owner, 0, script.Counts{Writes: 1}, second), mutex.MinHold(owner, second, true),
		mutex.Move(owner, "c:2", false, second), permits("p").Move(permit1, permit1, false, second),
		rw.Acquire(owner, two, second, false), rw.Release(owner, 1, script.Counts{}, second),
		fair.Acquire(owner, two, second, false), fair.Release(owner, 0, script.Counts{}, second),
		permits("p").Release(permit1, 0, script.Counts{}, second), script.NewLatch("latch", protocol.Plain).Read(),
		renewed(script.SessionEntry{Field: owner, Lock: "mutex", Lease: second}),
	}
	for _, role := range []struct{ set, code string }{{"NO ONE", ""}, {"127.0.0.1 1", "READONLY"}} {
		redis.CLI(t, append([]string{"REPLICAOF"}, strings.Fields(role.set)...)...)
		for _, call := range calls {
			result, err := script.NewRunner(s, 200*ms).Run(context.Background(), call)
			if err == nil {
				err = result.Reply.Err
			}
			refused, code := (*driver.ServerError)(nil), ""
			if errors.As(err, &refused) {
				code = refused.Code()
			}
			if code != role.code {
				t.Errorf("REPLICAOF %s: %s answers %+v, %v, want %q", role.set, call.Script(), result.Reply, err, role.code)
			}
		}
	}
}
