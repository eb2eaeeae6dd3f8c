package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: a queue that something else has written holds no verb up. Method: as in the test before it, the
// longest list that is taken for a queue, with deadlines that do not fit.
func TestLongNoFairVerbIsHeldUpByAStrangeQueue(t *testing.T) {
	t.Parallel()
	const most = 30 * ms
	s := connect(t, redistest.Start(t).Addr())
	fair := script.NewFair("job", time.Minute, protocol.Plain)
	var named, gone []string
	for i := range 100 {
		named, gone = append(named, protocol.Owner(me[:36], int64(1000+i))), append(gone, protocol.Owner(me[:36], int64(2000+i)))
	}
	for what, entry := range map[string]func(i int) string{
		"foreign waiters":  func(i int) string { return protocol.Owner(other[:36], int64(i)) },
		"no owners at all": func(i int) string { return fmt.Sprint("x", i) },
		"two owners":       func(i int) string { return protocol.Owner(other[:36], int64(i%2)) },
	} {
		for _, held := range []bool{true, false} {
			s.must(t, "FLUSHALL")
			for from := 0; from < 60_000; from += 1000 {
				push := []string{"RPUSH", "template"}
				for i := range 1000 {
					push = append(push, entry(from+i))
				}
				s.must(t, push...)
			}
			for verb, call := range map[string]script.Call{
				"queue": fair.Acquire(me, script.Counts{Writes: 1}, lease, true), "try": fair.Acquire(me, script.Counts{Writes: 1}, lease, false),
				"leave": fair.Release(me, 0, script.Counts{}, lease), "release": fair.Release("holder:1", 0, script.Counts{}, lease), "force": fair.Force("holder:1"),
				"a keep-alive": fair.KeepAlive(me[:36], named, gone), "status": fair.Status("")[1], "inspect": script.Inspect("job", 1000, false),
			} {
				best := time.Hour
				for range 5 {
					s.must(t, "UNLINK", "job", protocol.FairDeadlines("job"), protocol.FairKeepAlives("job"))
					s.must(t, "COPY", "template", protocol.FairQueue("job"), "REPLACE")
					if held {
						s.must(t, "HSET", "job", "holder:1", "1")
						s.must(t, "PEXPIRE", "job", "60000")
					}
					if best = min(best, s.spent(t, func() { s.run(t, call) })); best <= most {
						break
					}
				}
				if best > most {
					t.Errorf("%s, held %v: %s took the server %v", what, held, verb, best)
				}
			}
		}
	}
}

// Goal: a queue whose waiters have died goes by itself, although nobody uses the lock again. One that is
// left to Java stays: Redisson sets no TTL. Method: the TTLs with a waiter of each side, and of one.
func TestAQueueOfTheDeadExpires(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		fair := script.NewFair(key, time.Minute, protocol.Plain)
		keys := []string{protocol.FairQueue(key), protocol.FairDeadlines(key)}
		want := func(when string, lives bool) {
			t.Helper()
			for _, name := range keys {
				if left := s.must(t, "PTTL", name).Int; lives != (left > 0) || left > 3600_000 {
					t.Errorf("%s: %s has a TTL of %d ms", when, name, left)
				}
			}
		}
		s.run(t, fair.Acquire("holder:1", script.Counts{Writes: 1}, lease, false))
		s.must(t, "RPUSH", keys[0], other)
		s.must(t, "ZADD", keys[1], fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()), other)
		s.run(t, fair.Acquire(me, script.Counts{Writes: 1}, lease, true))
		want("a Java waiter and one of ours", true)
		s.run(t, fair.Release(me, 0, script.Counts{}, lease))
		want("ours has left", false)
		s.must(t, "DEL", keys[0], keys[1], key)
	})
}
