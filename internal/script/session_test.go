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

var (
	mutexEntry  = script.SessionEntry{Field: me, Lock: "a job", Count: 1, Lease: lease}
	readerEntry = script.SessionEntry{Field: me, Lock: "book", Read: true, Count: 2, Lease: old, Until: time.UnixMilli(1900000000000)}
)

const (
	mutexNoted  = me + " a job=exclusive 1 90000 0"
	readerNoted = me + " book=read 2 40000 1900000000000"
)

// Goal: each script of a session leaves what its header promises, also when it is repeated.
func TestASessionSaysWhatItIsTold(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, r := range []struct {
			what  string
			given state
			call  func(client string) script.Call
			reply string
			then  state
			again string
		}{
			{"note the first", state{}, note(mutexEntry), "1", state{mutexNoted, lease}, "1"},
			{"note two", state{}, note(mutexEntry, readerEntry), "1", state{mutexNoted + "," + readerNoted, lease}, "1"},
			{"note another", state{mutexNoted, old}, note(readerEntry), "1", state{mutexNoted + "," + readerNoted, lease}, "1"},
			{"note with another count", state{me + " book=read 1 40000 0", old}, note(readerEntry), "1", state{readerNoted, lease}, "1"},
			{"note in a string", state{"=x", old}, note(mutexEntry), "error WRONGTYPE", state{"=x", old}, "error WRONGTYPE"},
			{"forget one of two", state{mutexNoted + "," + readerNoted, old}, forget(mutexEntry), "1", state{readerNoted, old}, "0"},
			{"forget the last", state{mutexNoted, old}, forget(mutexEntry), "1", state{ttl: missing}, "0"},
			{"forget both", state{mutexNoted + "," + readerNoted, old}, forget(readerEntry, mutexEntry), "2", state{ttl: missing}, "0"},
			{"forget what was not noted", state{mutexNoted, old}, forget(readerEntry), "0", state{mutexNoted, old}, "0"},
			{"forget in a string", state{"=x", old}, forget(mutexEntry), "error WRONGTYPE", state{"=x", old}, "error WRONGTYPE"},
			{"touch", state{mutexNoted + "," + readerNoted, old}, touch, "2", state{mutexNoted + "," + readerNoted, lease}, "2"},
			{"touch what has no expiry", state{mutexNoted, none}, touch, "1", state{mutexNoted, lease}, "1"},
			{"touch nothing", state{}, touch, "0", state{ttl: missing}, "0"},
			{"touch a string", state{"=x", old}, touch, "error WRONGTYPE", state{"=x", old}, "error WRONGTYPE"},
			{"drop", state{mutexNoted, old}, script.SessionDrop, "1", state{ttl: missing}, "0"},
			{"drop nothing", state{}, script.SessionDrop, "0", state{ttl: missing}, "0"},
		} {
			t.Run(r.what, func(t *testing.T) {
				client := redistest.Name(t)
				key := protocol.SessionKey(client)
				s.putSession(t, key, r.given)
				for i, want := range []string{r.reply, r.again} {
					call := r.call(client)
					if got := label(call, s.run(t, call)); got != want {
						t.Errorf("the reply to run %d is %s, want %s", i, got, want)
					}
					if got := s.session(t, key); !got.is(r.then) {
						t.Errorf("run %d left %v, want %v", i, got, r.then)
					}
				}
			})
		}
	})
}

func note(entries ...script.SessionEntry) func(string) script.Call {
	return func(client string) script.Call { return script.SessionNote(client, lease, entries...) }
}

func forget(entries ...script.SessionEntry) func(string) script.Call {
	return func(client string) script.Call {
		var keys []string
		for _, e := range entries {
			keys = append(keys, e.Key())
		}
		return script.SessionForget(client, keys...)
	}
}

func touch(client string) script.Call { return script.SessionTouch(client, lease) }

// putSession and session are put and state for fields and values with spaces in them.
func (s *server) putSession(t *testing.T, key string, want state) {
	t.Helper()
	if want.fields == "" || want.fields[0] == '=' {
		s.put(t, key, want)
		return
	}
	for pair := range strings.SplitSeq(want.fields, ",") {
		field, value, _ := strings.Cut(pair, "=")
		s.must(t, "HSET", key, field, value)
	}
	if want.ttl > 0 {
		s.must(t, "PEXPIRE", key, fmt.Sprint(want.ttl.Milliseconds()))
	}
}

func (s *server) session(t *testing.T, key string) state {
	t.Helper()
	got := s.state(t, key)
	if got.ttl == missing || got.fields[0] == '=' {
		return got
	}
	words := s.must(t, "HGETALL", key).Array
	var fields []string
	for i := 0; i+1 < len(words); i += 2 {
		fields = append(fields, words[i].Str+"="+words[i+1].Str)
	}
	slices.Sort(fields)
	return state{strings.Join(fields, ","), got.ttl}
}

func TestASessionIsReadBack(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		client := redistest.Name(t)
		if entries, odd, err := script.ReadSession(s.run(t, script.SessionRead(client))); len(entries)+len(odd) > 0 || err != nil {
			t.Errorf("a session that is not there reads as %v, %v, %v", entries, odd, err)
		}
		s.run(t, script.SessionNote(client, lease, mutexEntry, readerEntry))
		s.must(t, "HSET", protocol.SessionKey(client), "nonsense", "exclusive 1 1 0", me+" job", "nonsense")
		entries, odd, err := script.ReadSession(s.run(t, script.SessionRead(client)))
		slices.SortFunc(entries, func(a, b script.SessionEntry) int { return strings.Compare(a.Lock, b.Lock) })
		if want := []script.SessionEntry{mutexEntry, readerEntry}; !slices.Equal(entries, want) || err != nil {
			t.Errorf("it reads as %v, %v; want %v", entries, err, want)
		}
		slices.Sort(odd)
		if want := []string{me + " job", "nonsense"}; !slices.Equal(odd, want) {
			t.Errorf("odd are %q, want %q", odd, want)
		}
		s.put(t, protocol.SessionKey(client), state{"=x", old})
		if _, _, err := script.ReadSession(s.run(t, script.SessionRead(client))); err == nil {
			t.Error("a string was taken for a session")
		}
	})
}

// Goal: what a watchdog makes of an entry is what the client itself would send.
func TestAnEntryIsRenewedAsItsClientWould(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1800000000000)
	long, soon, over := readerEntry, readerEntry, readerEntry
	long.Until, soon.Until, over.Until = time.Time{}, now.Add(time.Second), now
	for _, c := range []struct {
		entry script.SessionEntry
		lease time.Duration // 0: not at all
	}{{mutexEntry, lease}, {long, old}, {soon, time.Second}, {over, 0}} {
		r, ok := c.entry.Renewal(now)
		if ok != (c.lease > 0) || ok && r.Lease != c.lease || r.Lock != c.entry.Lock || r.Field != me {
			t.Errorf("%+v is renewed by %+v, %v; want for %v", c.entry, r, ok, c.lease)
		}
		if c.entry.Read && !slices.Equal(r.Holds, []string{
			protocol.ReadTimeoutKey("book", me, 1), protocol.ReadTimeoutKey("book", me, 2),
		}) {
			t.Errorf("a reader's keys are %q", r.Holds)
		}
		if !c.entry.Read && len(r.Holds) > 0 {
			t.Errorf("a mutex's keys are %q", r.Holds)
		}
	}
	// On the server, for every kind of lock.
	onEachServer(t, func(t *testing.T, s *server) {
		name := redistest.Name(t)
		for i, acquire := range []script.Call{
			script.Acquire(name+"0", me, old, 1),
			script.NewFair(name+"1", time.Minute, protocol.Plain).Acquire(me, old, 1, true),
			script.AcquireRW(name+"2", me, script.Counts{Writes: 1}, old),
			script.AcquireRW(name+"3", me, script.Counts{Reads: 1}, old),
		} {
			lock := fmt.Sprint(name, i)
			s.run(t, acquire)
			e := script.SessionEntry{Field: me, Lock: lock, Read: i == 3, Count: 1, Lease: lease}
			if i == 2 {
				e.Field = protocol.WriterField(me)
			}
			r, _ := e.Renewal(now)
			kept, err := script.ReadRenewed(s.run(t, script.Renew([]script.Renewal{r})), 1)
			if ttl := s.state(t, lock).ttl; err != nil || !kept[0].Held || ttl < lease-slack {
				t.Errorf("lock %d: kept %v, %v, TTL %v", i, kept, err, ttl)
			}
		}
	})
}

func TestOddRepliesOfSessionsAreErrors(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(driver.Reply) error{
		"session":   func(r driver.Reply) error { _, _, err := script.ReadSession(r); return err },
		"heard":     func(r driver.Reply) error { _, err := script.ReadHeard(r); return err },
		"watchdogs": func(r driver.Reply) error { _, _, err := script.ReadWatchdogs(r); return err },
		"stalled":   func(r driver.Reply) error { _, _, err := script.ReadStalled(r); return err },
		"count":     func(r driver.Reply) error { _, err := script.ReadCount(r); return err },
	} {
		odd := []driver.Reply{refused("ERR no")}
		switch name {
		case "session":
			odd = append(odd, driver.Reply{Array: []driver.Reply{{Str: "a"}}})
		case "stalled":
			odd = append(odd, driver.Reply{}, driver.Reply{Array: []driver.Reply{{Int: 1}, {Str: "c"}, {Str: "x"}}})
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
