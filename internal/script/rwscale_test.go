package script_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// hset fills a lock in steps.
func (s *server) hset(t *testing.T, key string, words []string) {
	t.Helper()
	for ; len(words) > 0; words = words[min(len(words), 5000):] {
		s.must(t, append([]string{"HSET", key}, words[:min(len(words), 5000)]...)...)
	}
	s.expire(t, key, "old")
}

// Goal: the most readers that a lock may have do not make it a key that no script accepts. The next
// reader is refused, and the others can leave.
func TestAReaderTooManyIsRefused(t *testing.T) {
	t.Parallel()
	const most = 131072 - 1 // beside the mode
	s := connect(t, redistest.Start(t).Addr())
	s.hset(t, "job", fields(most, "1", "mode", "read"))
	s.must(t, "SET", protocol.ReadTimeoutKey("job", other+"7", 1), "1", "PX", "60000")
	for _, step := range []struct {
		what  string
		call  rwCall
		label string
	}{
		{"one more reader", rwAcquire("A", 0, 1), "error NOTLOCK"},
		{"a reader again", rwAcquire(other+"7", 0, 2), "1"},
		{"a reader that leaves", rwRelease(other+"7", 2, 0, 0), "-3"},
	} {
		call := step.call("job")
		if got := label(call, s.run(t, call)); got != step.label {
			t.Errorf("%s: %s, want %s", step.what, got, step.label)
		}
	}
}

// Goal: a writer behind many dead readers need not wait for a lease between two steps of the removal.
// It is told to ask again at once as long as it makes progress, and no longer.
func TestAWriterRemovesManyDeadReadersWithoutPauses(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for what, alive := range map[string]bool{"all are dead": false, "one lives": true} {
			t.Run(what, func(t *testing.T) {
				key := redistest.Name(t)
				s.hset(t, key, fields(9000, "1", "mode", "read", me, "1"))
				if alive {
					s.must(t, "SET", protocol.ReadTimeoutKey(key, me, 1), "1", "PX", "60000")
				}
				calls := s.remove(t, key, alive)
				if !alive && calls < 4 {
					t.Errorf("9000 readers were removed in %d calls: this proves nothing", calls)
				}
				s.clearRW(t, key)
			})
		}
	})
}

// remove has a writer ask until it has the lock, or is told to wait for the one who lives. It returns
// how often it has asked.
func (s *server) remove(t *testing.T, key string, alive bool) (calls int) {
	t.Helper()
	rw := script.NewRW(key, protocol.Plain)
	for calls = 1; calls <= 20; calls++ {
		before := s.must(t, "HLEN", key).Int
		got, err := script.ReadAcquired(s.run(t, rw.Acquire(other, script.Counts{Writes: 1}, lease, true)))
		after := s.must(t, "HLEN", key).Int
		switch {
		case err != nil || got.Granted && alive:
			t.Fatalf("call %d beside %d fields: %+v, %v", calls, before, got, err)
		case got.Granted:
			return calls
		case before-after > 2100:
			t.Errorf("one call removed %d readers", before-after)
		case got.TTL == 0 && before-after < 100:
			t.Errorf("the writer is to ask again at once, after %d readers were removed", before-after)
		case got.TTL > 0 && (!alive || got.TTL > time.Minute || got.Holder != me && after > 500):
			t.Errorf("the writer waits for %s for %v beside %d fields", got.Holder, got.TTL, after)
		}
		if got.TTL > 0 {
			return calls
		}
	}
	t.Errorf("after %d calls the writer is still to ask again at once", calls)
	return calls
}

// Goal: a lock that had many readers shows those that are left, and can be forced free. Method: while Redis saves, it
// does not shrink the table of a hash, and the first page of a scan is empty.
func TestALockThatHadManyReadersShowsTheLast(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	s.hset(t, "job", fields(40000, "1", "mode", "read"))
	var scanned []string
	for cursor := ""; cursor != "0"; {
		page := s.must(t, "HSCAN", "job", cmp.Or(cursor, "0"), "COUNT", "1000")
		cursor = page.Array[0].Str
		for pair := range slices.Chunk(page.Array[1].Array, 2) {
			scanned = append(scanned, pair[0].Str)
		}
	}
	s.must(t, "CONFIG", "SET", "rdb-key-save-delay", "100000000")
	s.must(t, "BGSAVE")
	defer s.must(t, "FLUSHALL") // which ends it
	last := scanned[len(scanned)-1]
	gone := slices.DeleteFunc(scanned, func(field string) bool { return field == "mode" || field == last })
	for some := range slices.Chunk(gone, 5000) {
		s.must(t, append([]string{"HDEL", "job"}, some...)...)
	}
	if page := s.must(t, "HSCAN", "job", "0", "COUNT", "1000").Array[1].Array; len(page) > 2 {
		t.Fatalf("the first page has %d words: this proves nothing", len(page))
	}
	if got := s.run(t, rwStatus("job")).Array; len(got) < 5 {
		t.Errorf("the status is %v", got)
	}
	if got, err := script.ReadForced(s.run(t, rwForce("")("job"))); !got || err != nil || s.must(t, "EXISTS", "job").Int != 0 {
		t.Errorf("forced: %t, %v", got, err)
	}
}
