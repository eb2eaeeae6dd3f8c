package script_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// TestAHolderIsNotKeptByAQueueThatIsNone has a neighbour write more into the queue than
// the scripts accept. The lock cannot be acquired then, but its holder can release it.
func TestAHolderIsNotKeptByAQueueThatIsNone(t *testing.T) {
	t.Parallel()
	conn := connect(t, redistest.Start(t).Addr())
	fair := script.NewFair("job", 5*time.Minute, protocol.Plain)
	const many = "local all = {} for i = 1, 7000 do all[i] = i end for i = 1, 10 do redis.call('RPUSH', KEYS[1], unpack(all)) end"
	conn.must(t, "EVAL", many, "1", "redisson_lock_queue:{job}")
	for what, free := range map[string]script.Call{
		"release": fair.Release(me, 0, script.Counts{}, lease), "force": fair.Force(""), "force from its owner": fair.Force(me),
	} {
		conn.must(t, "HSET", "job", me, "1")
		conn.must(t, "PEXPIRE", "job", "60000")
		if reply := conn.run(t, free); reply.Err != nil || reply.Int < 0 {
			t.Errorf("%s: %+v", what, reply)
		}
		if conn.must(t, "EXISTS", "job").Int != 0 {
			t.Errorf("%s: the lock is still held", what)
		}
	}
	for what, refused := range map[string]script.Call{
		"acquire": fair.Acquire(me, script.Counts{Writes: 1}, lease, true), "cancel": fair.Release(me, 0, script.Counts{}, lease), "keep-alive": fair.KeepAlive("c", []string{me}, nil),
	} {
		if got := label(refused, conn.run(t, refused)); got != "error NOTLOCK" {
			t.Errorf("%s: %s, want a refusal", what, got)
		}
	}
	if n := conn.must(t, "LLEN", "redisson_lock_queue:{job}").Int; n != 70000 {
		t.Errorf("%d entries are left of 70000", n)
	}
}
