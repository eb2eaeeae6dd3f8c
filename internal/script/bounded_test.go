package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: no loop is sized by what somebody else wrote. Method: what the server itself says that
// a script took, at best of eight times.
func TestLongNoVerbIsHeldUpByWhatOthersWrote(t *testing.T) {
	t.Parallel()
	const most = 131072 // fields that a lock may have
	s := connect(t, redistest.Start(t).Addr())
	for _, given := range []struct {
		what  string
		words []string
		span  string
		most  time.Duration
	}{
		{"2,000 readers of 65,536 holds", fields(2000, "65536", "mode", "read"), "old", 50 * ms},
		{"2,000 readers of 65,536 holds", fields(2000, "65536", "mode", "read"), "ever", 50 * ms},
		{"60,000 dead readers", fields(60_000, "1", "mode", "read"), "old", 50 * ms},
		{"60,000 readers beside a writer", fields(60_000, "1", "mode", "write"), "old", 50 * ms},
		{"140,000 fields", fields(140_000, "1", "mode", "read"), "old", 20 * ms},
	} {
		s.must(t, "FLUSHALL", "ASYNC")
		for words := given.words; len(words) > 0; words = words[min(len(words), 5000):] {
			s.must(t, append([]string{"HSET", "template"}, words[:min(len(words), 5000)]...)...)
		}
		s.expire(t, "template", given.span)
		for what, call := range map[string]rwCall{
			"read": rwAcquire("A", 0, 1), "write": rwAcquire("A", 1, 0), "force": rwForce(""), "force from one": rwForce(other + "7"),
			"status": rwStatus, "release": rwRelease(other+"7", 1, 0, 0), "release one": rwRelease(other+"7", 2, 0, 1), "a mutex": acquire(me, 1),
			"force a mutex": force, "status of a mutex": status,
		} {
			best := time.Hour
			for range 8 {
				s.must(t, "UNLINK", "job")
				s.must(t, "COPY", "template", "job")
				var reply driver.Reply
				best = min(best, s.spent(t, func() { reply = s.run(t, call("job")) }))
				if len(given.words) > 2*most && label(call("job"), reply) != "error NOTLOCK" {
					t.Errorf("%s: %s answers %.200s", given.what, what, fmt.Sprint(reply))
				}
				if best <= given.most {
					break
				}
			}
			if best > given.most {
				t.Errorf("%s, with an expiry of %s: %s took the server %v", given.what, given.span, what, best)
			}
		}
	}
}

// spent is the time of a processor that the server's main thread needs for what do sends. A busy machine does
// not add to it.
func (s *server) spent(t *testing.T, do func()) time.Duration {
	t.Helper()
	processor := func() time.Duration { return redistest.MainThread(t, s.must(t, "INFO", "cpu").Str) }
	before := processor()
	do()
	return processor() - before
}
