package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// readAll reads a session as a client does, part by part.
func (s *server) readAll(t *testing.T, client string) (all script.SessionPage, parts int) {
	t.Helper()
	seen := make(map[string]bool)
	for from, more := "0", true; more; parts++ {
		page, err := script.ReadSession(s.run(t, script.SessionRead(client, from)))
		if err != nil || parts > 1000 {
			t.Fatal(parts, err)
		}
		all.Pulse, all.Skipped, all.Odd = page.Pulse, all.Skipped+page.Skipped, append(all.Odd, page.Odd...)
		for _, e := range page.Entries {
			if !seen[e.Key()] { // it may stand in two parts
				all.Entries = append(all.Entries, e)
			}
			seen[e.Key()] = true
		}
		from, more = page.Next()
	}
	slices.SortFunc(all.Entries, func(a, b script.SessionEntry) int { return strings.Compare(a.Lock, b.Lock) })
	slices.Sort(all.Odd)
	return all, parts
}

func TestASessionIsReadBack(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		client := redistest.Name(t)
		if all, _ := s.readAll(t, client); len(all.Entries)+len(all.Odd)+all.Skipped > 0 || all.Pulse != "" {
			t.Errorf("a session that is not there reads as %+v", all)
		}
		s.run(t, script.SessionNote(client, lease, mutexEntry, readerEntry))
		s.run(t, script.SessionTouch(client, lease, "p"))
		s.must(t, "HSET", protocol.SessionKey(client), "nonsense", "exclusive 1 1 0", me+" job", "nonsense")
		all, _ := s.readAll(t, client)
		if want := []script.SessionEntry{mutexEntry, readerEntry}; !slices.Equal(all.Entries, want) || all.Pulse != "p" {
			t.Errorf("it reads as %+v; want %v", all, want)
		}
		if want := []string{me + " job", "nonsense"}; !slices.Equal(all.Odd, want) {
			t.Errorf("odd are %q, want %q", all.Odd, want)
		}
		s.put(t, protocol.SessionKey(client), state{"=x", old})
		if _, err := script.ReadSession(s.run(t, script.SessionRead(client, "0"))); err == nil {
			t.Error("a string was taken for a session")
		}
	})
}

// Goal: a large session is read whole, and no part of it is large. What is too long for a
// client of ours stays where it is.
func TestALargeSessionIsReadInParts(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Shared(t).Addr())
	client := redistest.Name(t)
	const n = 20_000
	for i := range n / 500 {
		var entries []script.SessionEntry
		for j := range 500 {
			e := mutexEntry
			e.Lock = fmt.Sprint("job ", i*500+j)
			entries = append(entries, e)
		}
		s.run(t, script.SessionNote(client, lease, entries...))
	}
	key := protocol.SessionKey(client)
	s.must(t, "HSET", key, me+" "+strings.Repeat("x", 1<<20), "exclusive 1 1000 0", me+" y", strings.Repeat("1", 1<<20))
	s.must(t, "HSET", key, protocol.SessionPulse, strings.Repeat("p", 1<<20))
	all, parts := s.readAll(t, client)
	if len(all.Entries) != n || parts < 10 || all.Pulse != "" {
		t.Errorf("it reads as %d entries in %d parts, with a pulse of %d bytes", len(all.Entries), parts, len(all.Pulse))
	}
	if all.Skipped != 2 {
		t.Errorf("%d entries were skipped, want 2", all.Skipped)
	}
}

// Goal: a watchdog renews an entry of every kind of lock, upwards only, and nothing else.
func TestAnEntryIsRenewedUpwardsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		name := redistest.Name(t)
		renew := func(e script.SessionEntry, want int) {
			t.Helper()
			if n, err := script.ReadCount(s.run(t, renewed(e))); n != want || err != nil {
				t.Errorf("%+v: %d, %v; want %d", e, n, err, want)
			}
		}
		for i, acquire := range []script.Call{
			script.Mutex{Lock: name + "0"}.Acquire(me, script.Counts{Writes: 1}, old, false),
			script.NewFair(name+"1", time.Minute, protocol.Plain).Acquire(me, script.Counts{Writes: 1}, old, true),
			script.NewRW(name+"2", protocol.Plain).Acquire(me, script.Counts{Writes: 1}, old, false),
			script.NewRW(name+"3", protocol.Plain).Acquire(me, script.Counts{Reads: 1}, old, false),
		} {
			lock := fmt.Sprint(name, i)
			s.run(t, acquire)
			e := script.SessionEntry{Field: me, Lock: lock, Read: i == 3, Count: 2, Lease: lease}
			if i == 2 {
				e.Field = protocol.WriterField(me)
			}
			shorter, another := e, e
			shorter.Lease, another.Field = time.Millisecond, "somebody:1"
			renew(e, 1)
			renew(shorter, 1)
			renew(another, 0)
			keys := []string{lock}
			if e.Read {
				keys = append(keys, protocol.ReadTimeoutKey(lock, me, 1))
			}
			for _, key := range keys {
				if ttl := s.state(t, key).ttl; ttl < lease-slack {
					t.Errorf("%s has a TTL of %v", key, ttl)
				}
			}
		}
		e := script.SessionEntry{Field: me, Lock: name, Count: 1, Lease: lease}
		for what, given := range map[string]state{
			"free": {}, "a string": {"=x", old}, "without an expiry": {me + "=1", none}, "no count": {me + "=x", old}, "another's": {"c:2=1", old},
		} {
			s.put(t, name, given)
			before := s.state(t, name)
			renew(e, 0)
			if got := s.state(t, name); !got.is(before) {
				t.Errorf("a lock that is %s was %v and is %v", what, before, got)
			}
			s.must(t, "DEL", name)
		}
		// A read hold all of whose keys have expired is gone, whatever the lock says.
		s.put(t, name, state{"mode=read " + me + "=1", old})
		e.Read = true
		renew(e, 0)
	})
}

func TestAnEntryIsRenewedWithinItsBounds(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1800000000000)
	for what, c := range map[string]struct {
		until time.Time
		lease string // "": not at all
	}{
		"no end":      {time.Time{}, "40000"},
		"a far end":   {now.Add(1000 * time.Hour), "40000"},
		"a near end":  {now.Add(time.Second), "1000"},
		"its end":     {now, ""},
		"a past end":  {now.Add(-time.Hour), ""},
		"a giant end": {time.UnixMilli(1<<63 - 1), "40000"},
	} {
		e := readerEntry
		e.Until = c.until
		call, ok := script.SessionRenew(e, now)
		if ok != (c.lease != "") || ok && !slices.Equal(call.Words()[2:], []string{"3", "book", protocol.ReadTimeoutKey("book", me, 1), protocol.ReadTimeoutKey("book", me, 2), me, c.lease}) {
			t.Errorf("with %s it is renewed by %q, %v", what, call.Words(), ok)
		}
	}
	huge := script.SessionEntry{Field: me, Lock: "book", Read: true, Count: 1 << 30, Lease: 1 << 62}
	if n := len(renewed(huge).Words()); n > protocol.MaxSessionCount+10 {
		t.Errorf("a renewal has %d words", n)
	}
	if b := huge.Bounded(); b.Count != protocol.MaxSessionCount || b.Lease != time.Hour {
		t.Errorf("it is bounded as %+v", b)
	}
}

// FuzzReadSession reads what anybody may have written.
func FuzzReadSession(f *testing.F) {
	f.Add("c:1 job", "exclusive 1 30000 0", "p")
	f.Add("c:1 job", "read 65536 9223372036854775807 9223372036854775807", "")
	f.Fuzz(func(t *testing.T, field, value, pulse string) {
		page, err := script.ReadSession(driver.Reply{Array: []driver.Reply{{Str: "0"}, {}, {Str: pulse}, {Str: field}, {Str: value}}})
		if err != nil || len(page.Entries)+len(page.Odd) != 1 || len(page.Pulse) > protocol.MaxClientLen {
			t.Fatalf("it reads as %+v, %v", page, err)
		}
		for _, e := range page.Entries {
			if e.Lease < time.Millisecond || e.Lease > time.Hour || e.Count < 1 || e.Count > protocol.MaxSessionCount || e.Key() != field {
				t.Errorf("%q, %q reads as %+v", field, value, e)
			}
			if call, ok := script.SessionRenew(e, time.Now()); ok && len(call.Words()) > protocol.MaxSessionCount+10 {
				t.Errorf("%q, %q is renewed by %d words", field, value, len(call.Words()))
			}
		}
	})
}

// FuzzReadStalled reads what anybody may have written into the set.
func FuzzReadStalled(f *testing.F) {
	f.Add("c", "1800000000000.5")
	f.Add("c", "-inf")
	f.Add("c", "nan")
	f.Fuzz(func(t *testing.T, client, score string) {
		page, err := script.ReadStalled(driver.Reply{Array: []driver.Reply{{Int: 1}, {Int: 1}, {}, {}, {}, {Str: client}, {Str: score}}})
		if err != nil || len(page.Clients) != 1 || page.Clients[0].Score != score || page.Clients[0].Due.UnixMilli() < 0 {
			t.Fatalf("it reads as %+v, %v", page, err)
		}
	})
}

func TestOddRepliesOfSessionsAreErrors(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(driver.Reply) error{
		"session":   func(r driver.Reply) error { _, err := script.ReadSession(r); return err },
		"heartbeat": func(r driver.Reply) error { _, err := script.ReadHeartbeat(r); return err },
		"watchdogs": func(r driver.Reply) error { _, err := script.ReadWatchdogs(r); return err },
		"stalled":   func(r driver.Reply) error { _, err := script.ReadStalled(r); return err },
		"due":       func(r driver.Reply) error { _, err := script.ReadDue(r, []string{"c"}); return err },
		"count":     func(r driver.Reply) error { _, err := script.ReadCount(r); return err },
	} {
		odd := []driver.Reply{refused("ERR no")}
		switch name {
		case "session":
			odd = append(odd, driver.Reply{}, driver.Reply{Array: []driver.Reply{{Str: "0"}, {}, {}, {Str: "a"}}})
		case "stalled":
			odd = append(odd, driver.Reply{}, driver.Reply{Array: []driver.Reply{{Int: 1}, {Int: 1}, {}, {}, {}, {Str: "c"}}})
		case "count":
			odd = append(odd, driver.Reply{IsNil: true}, driver.Reply{Int: -1}, driver.Reply{Str: "1"})
		default:
			odd = append(odd, driver.Reply{})
		}
		for _, reply := range odd {
			if read(reply) == nil {
				t.Errorf("%s: %+v was taken for an answer", name, reply)
			}
		}
	}
}
