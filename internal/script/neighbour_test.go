package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Hostile reading, role one: a neighbour that may write any key. No script of ours may keep
// the server for more than 20 ms. Red where one does.

func ownServer(t *testing.T) *server {
	return connect(t, redistest.Start(t).Addr())
}

// bulk has the server itself write n things, quickly.
func (s *server) bulk(t *testing.T, command string, n int, key, args string) {
	t.Helper()
	s.must(t, "EVAL", `for i = 1, ARGV[1] do redis.call('`+command+`', KEYS[1], `+args+`) end`, "1", key, fmt.Sprint(n))
}

// costs runs a call up to five times on what prepare makes, and fails if each took too long.
func (s *server) costs(t *testing.T, what string, prepare func(), call func() script.Call) {
	t.Helper()
	const template = "template of "
	s.must(t, "FLUSHALL", "ASYNC")
	prepare() // which takes long, so each try has a copy
	for _, key := range s.must(t, "KEYS", "*").Array {
		s.must(t, "RENAME", key.Str, template+key.Str)
	}
	best := time.Hour
	for range 5 {
		for _, key := range s.must(t, "KEYS", "*").Array {
			if name, ok := strings.CutPrefix(key.Str, template); ok {
				s.must(t, "COPY", key.Str, name, "REPLACE")
			} else if len(s.must(t, "KEYS", template+key.Str).Array) == 0 {
				s.must(t, "UNLINK", key.Str) // the script has made it
			}
		}
		var result script.Result
		var err error
		best = min(best, s.spent(t, func() { result, err = script.NewRunner(s, 60*second).Run(t.Context(), call()) }))
		if err != nil {
			t.Log(what, err)
		} else if result.Reply.Err != nil {
			t.Logf("%s: %.120v", what, result.Reply.Err)
		}
		if best <= 20*ms {
			break
		}
	}
	if best > 100*ms { // a script that reads it takes a second
		t.Errorf("%s: the script kept the server for %v", what, best)
	}
}

// A hash of one field that is huge, in its name or in its value; a huge counter of tokens.
func TestLongHugeFields(t *testing.T) {
	s := ownServer(t)
	const huge = "x"
	grow := "local x = string.rep('x', 1024) for i = 1, 16 do x = x .. x end " // 64 MB
	set := func(lua string) func() {
		return func() { s.must(t, "EVAL", grow+lua, "1", "job") }
	}
	name := set(`redis.call('HSET', KEYS[1], ` + huge + `, '1')`)
	value := set(`redis.call('HSET', KEYS[1], 'x', ` + huge + `)`)
	mode := set(`redis.call('HSET', KEYS[1], 'mode', ` + huge + `, 'x', '1')`)
	reader := set(`redis.call('HSET', KEYS[1], 'mode', 'read', ` + huge + `, '1') redis.call('PEXPIRE', KEYS[1], 60000)`)
	for what, prepare := range map[string]func(){"64 MB name": name, "64 MB value": value} {
		s.costs(t, "acquire, "+what, prepare, func() script.Call { return acquire(me, 1)("job") })
		s.costs(t, "status, "+what, prepare, func() script.Call { return status("job") })
	}
	s.costs(t, "rw acquire, 64 MB mode", mode, func() script.Call { return rwAcquire("A", 0, 1)("job") })
	s.costs(t, "rw acquire, 64 MB reader", reader, func() script.Call { return rwAcquire("A", 1, 0)("job") })
	s.costs(t, "acquire with token, 64 MB counter", func() {
		s.must(t, "EVAL", grow+`redis.call('SET', KEYS[1], `+huge+`)`, "1", protocol.TokenKey("job"))
	}, func() script.Call { return acquire(me, 1)("job").WithTokens(protocol.TokenKey("job"), script.Tokens{}) })
}

const plainOwner = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

func fairOfHostB() script.Fair { return script.NewFair("job", 5*time.Minute, protocol.Plain) }

// A queue, deadlines and keep-alives that somebody else has filled.
func TestLongFullQueues(t *testing.T) {
	s := ownServer(t)
	f := fairOfHostB()
	mine := plainOwner + ":1"
	held := func() {
		s.must(t, "HSET", "job", "x:1", "1")
		s.must(t, "PEXPIRE", "job", "60000")
	}
	queue := protocol.FairQueue("job")
	acquire := func() script.Call { return f.Acquire(mine, script.Counts{Writes: 1}, lease, true) }
	try := func() script.Call { return f.Acquire(mine, script.Counts{Writes: 1}, lease, false) }
	release := func() script.Call { return f.Release(mine, 0, script.Counts{}, lease) }
	keepAlive := func() script.Call { return f.KeepAlive(plainOwner, []string{mine}, nil) }
	s.costs(t, "acquire behind 1,000,000 in the queue", func() {
		held()
		s.bulk(t, "RPUSH", 1_000_000, queue, "'y:' .. i")
	}, acquire)
	s.costs(t, "withdrawal from 1,000,000 in the queue", func() {
		held()
		s.bulk(t, "RPUSH", 1_000_000, queue, "'y:' .. i")
	}, release)
	s.costs(t, "keep-alive, the first 64 of 500,000 are one", func() {
		held()
		s.bulk(t, "RPUSH", 64, queue, "'x:1'")
		s.bulk(t, "RPUSH", 500_000, queue, "'y:' .. i")
	}, keepAlive)
	s.costs(t, "try, 10,000 dead in the queue and the lock free", func() {
		s.bulk(t, "RPUSH", 10_000, queue, "'y:' .. i")
	}, try)
}

// Deadlines and keep-alives alone.
func TestLongFullDeadlinesAndBeats(t *testing.T) {
	s := ownServer(t)
	f := fairOfHostB()
	mine := plainOwner + ":1"
	try := func() script.Call { return f.Acquire(mine, script.Counts{Writes: 1}, lease, false) }
	keepAlive := func() script.Call { return f.KeepAlive(plainOwner, []string{mine}, nil) }
	held := func() {
		s.must(t, "HSET", "job", "x:1", "1")
		s.must(t, "PEXPIRE", "job", "60000")
	}
	s.costs(t, "try, no queue and 200,000 deadlines", func() {
		s.bulk(t, "ZADD", 200_000, protocol.FairDeadlines("job"), "i, 'y:' .. i")
	}, try)
	s.costs(t, "try, no queue and 200,000 keep-alives", func() {
		s.bulk(t, "ZADD", 200_000, protocol.FairKeepAlives("job"), "i, 'y' .. i")
	}, try)
	s.costs(t, "keep-alive, 200,000 old keep-alives", func() {
		held()
		s.bulk(t, "ZADD", 200_000, protocol.FairKeepAlives("job"), "i, 'y' .. i")
	}, keepAlive)
}

// Counters by user: {uuid: count} with a TTL. They have never been a lock.
func TestForcedUnlocksLeaveCountersByUUIDAlone(t *testing.T) {
	s := ownServer(t)
	for what, c := range map[string]struct {
		field string
		call  script.Call
	}{
		"fair, a UUID":                {plainOwner, fairOfHostB().Force("")},
		"fair, a UUID and more":       {plainOwner + ":clicks", fairOfHostB().Force("")},
		"mutex, a UUID":               {plainOwner, force("job")},
		"mutex, a UUID and more":      {plainOwner + ":clicks", force("job")},
		"write lock, a UUID and more": {plainOwner + ":clicks", rwAcquire("A", 1, 0)("job")},
	} {
		s.must(t, "FLUSHALL")
		s.must(t, "HSET", "job", c.field, "3")
		if strings.HasPrefix(what, "write") {
			s.must(t, "HSET", "job", "mode", "read")
		}
		s.must(t, "PEXPIRE", "job", "60000")
		reply := s.run(t, c.call)
		if s.must(t, "HGET", "job", c.field).Str != "3" {
			t.Errorf("%s: the hash {%s: 3} is deleted, reply %+v", what, c.field, reply)
		}
	}
}

// An inner hold of a fair lock is given back while the server is out of memory.
func TestAnInnerReleaseNeedsNoMemory(t *testing.T) {
	s := ownServer(t)
	f := fairOfHostB()
	mine := plainOwner + ":1"
	for what, calls := range map[string][3]script.Call{
		"fair":  {f.Acquire(mine, script.Counts{Writes: 1}, lease, false), f.Acquire(mine, script.Counts{Writes: 2}, lease, false), f.Release(mine, 0, script.Counts{Writes: 1}, lease)},
		"mutex": {script.Mutex{Lock: "job"}.Acquire(mine, script.Counts{Writes: 1}, lease, false), script.Mutex{Lock: "job"}.Acquire(mine, script.Counts{Writes: 2}, lease, false), script.Mutex{Lock: "job", Channel: "c", Via: protocol.Plain}.Release(mine, 0, script.Counts{Writes: 1}, lease)},
	} {
		s.must(t, "FLUSHALL")
		s.run(t, calls[0])
		s.run(t, calls[1])
		s.run(t, calls[2]) // known to the server
		s.run(t, calls[1])
		s.must(t, "CONFIG", "SET", "maxmemory", "1")
		reply := s.run(t, calls[2])
		s.must(t, "CONFIG", "SET", "maxmemory", "0")
		if reply.Err != nil {
			t.Errorf("%s: %v", what, reply.Err)
		}
	}
}

// Operators look at a lock whose counter of tokens is not one.
func TestStatusDoesNotDependOnTheCounter(t *testing.T) {
	s := ownServer(t)
	for what, words := range map[string][]string{
		"text": {"SET", protocol.TokenKey("job"), "abc"},
		"list": {"RPUSH", protocol.TokenKey("job"), "abc"},
	} {
		s.must(t, "FLUSHALL")
		s.must(t, words...)
		s.run(t, script.Mutex{Lock: "job"}.Acquire(plainOwner+":1", script.Counts{Writes: 1}, lease, false))
		state, err := (script.Mutex{}).ReadStatus(s.run(t, script.Mutex{Lock: "job"}.Status("")[0]))
		if err != nil {
			t.Errorf("the counter is a %s: status of a sound mutex: %v", what, err)
		}
		_ = state
	}
}
