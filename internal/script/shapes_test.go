package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: what does not have the shape of a lock is somebody's data: every verb that would have
// to look at it answers NOTLOCK, and changes nothing. Method: the digest of the key before
// and after every verb.

// fields writes a hash of so many fields.
func fields(n int, value string, first ...string) []string {
	words := first
	for i := range n {
		words = append(words, fmt.Sprintf("%s%d", other, i), value)
	}
	return words
}

// shapes are hashes that are no lock, and the verbs that may take them for one.
var shapes = []struct {
	what  string
	words []string
	mutex bool // has the shape of a mutex
}{
	{"a page of settings", []string{"mode", "dark", "lang", "en"}, false},
	{"a mode and a size", []string{"mode", "read", "size", "3000000"}, false},
	{"a count that no loop ends for", []string{"mode", "read", "x:1", "1000000000000000"}, false},
	{"a mode alone", []string{"mode", "write"}, false},
	{"a reading mode alone", []string{"mode", "read"}, false},
	{"no mode", []string{me, "1", other, "1"}, false},
	{"one owner", []string{other, "1"}, true},
	{"one owner of the highest count", []string{other, "65536"}, true},
	{"an empty hash of one field", []string{"", ""}, false},
	{"a count of 0", []string{"mode", "read", other, "0"}, false},
	{"a count with a leading zero", []string{"mode", "read", other, "01"}, false},
	{"a count too high", []string{"mode", "read", other, "65537"}, false},
	{"a negative count", []string{"mode", "read", other, "-1"}, false},
	{"a fraction", []string{"mode", "write", other + ":write", "1.5"}, false},
	{"a word", []string{"mode", "write", other + ":write", "x"}, false},
	{"a word beside a writer", []string{"mode", "write", other + ":write", "1", "lang", "en"}, false},
	{"nothing for a count", []string{"mode", "read", other, ""}, false},
	{"a count behind a zero byte", []string{"mode", "read", other, "1\x00"}, false},
	{"a count of mine", []string{"mode", "read", me, "x"}, false},
	{"a mutex's count of 0", []string{other, "0"}, false},
	{"a mutex's count with a leading zero", []string{other, "01"}, false},
	{"a mutex's count too high", []string{other, "65537"}, false},
	{"a mutex's negative count", []string{other, "-1"}, false},
	{"a mutex's fraction", []string{other, "1.5"}, false},
	{"a mutex's word", []string{other, "x"}, false},
	{"a mutex's count of mine", []string{me, "x"}, false},
	{"a hundred fields that are no counts", fields(100, "x", "mode", "read"), false},
}

func TestWhatIsNoLockIsLeftAloneByEveryVerb(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		mutexVerbs := map[string]func(string) script.Call{
			"acquire": acquire(me, 1), "re-enter": acquire(me, 2), "force": force, "force from me": forceFrom(me), "status": status,
			"acquire all": func(key string) script.Call {
				return script.AcquireAll([]string{key + "free", key}, []string{me, me}, lease)
			},
		}
		rwVerbs := map[string]func(string) script.Call{
			"read": rwAcquire("A", 0, 1), "read again": rwAcquire("A", 0, 2), "write": rwAcquire("A", 1, 0), "read inside": rwAcquire("A", 1, 1),
			"release": rwRelease("A", 2, 0, 0), "release one": rwRelease("A", 2, 0, 1), "downgrade": rwRelease("A", 1, 0, 1),
			"force": rwForce(""), "force from me": rwForce("A"), "status": rwStatus,
		}
		for _, shape := range shapes {
			key := redistest.Name(t)
			s.must(t, append([]string{"HSET", key}, shape.words...)...)
			before := s.look(t, key)
			try := func(verb string, call script.Call) {
				t.Helper()
				reply := s.run(t, call)
				if got := label(call, reply); got != "error NOTLOCK" {
					t.Errorf("%s: %s %s answers %s: %+v", shape.what, call.Script(), verb, got, reply)
				}
				if after := s.look(t, key); after != before {
					t.Errorf("%s: %s %s changed it: %.200s", shape.what, call.Script(), verb, after)
				}
			}
			for verb, call := range mutexVerbs {
				if !shape.mutex {
					try(verb, call(key))
				}
			}
			for verb, call := range rwVerbs {
				try(verb, call(key))
			}
			if left := s.must(t, "KEYS", "*"+key+"*").Array; len(left) != 1 {
				t.Errorf("%s: left are %v", shape.what, left)
			}
			s.must(t, "DEL", key)
		}
	})
}

// look is all that a key holds, with its expiry.
func (s *server) look(t *testing.T, key string) string {
	t.Helper()
	dump := s.Do(t.Context(), driver.Command{Words: []string{"DUMP", key}, Key: key})
	if dump.Err != nil { // the one in memory dumps strings only
		return fmt.Sprint(s.state(t, key))
	}
	return fmt.Sprint(dump.Str, s.must(t, "PTTL", key).Int)
}

// Goal: a name says nothing about a holder. Other implementations write UUID:UUID, or what they
// like; whoever wants the lock waits behind them as behind anybody.
func TestHoldersOfAnyNameAreWaitedBehind(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, name := range []string{
			"4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:9a0c7d52-0b5e-4d5c-8f0a-3f1d2c4b5a69", "host-1", "", "鍵🔒", "a:write", "\x00\xff", "two words", "%d",
		} {
			key, uuid := redistest.Name(t), strings.HasPrefix(name, me[:37])
			s.must(t, "HSET", key, name, "2")
			s.expire(t, key, "old")
			got, err := script.ReadAcquired(s.run(t, acquire(me, 1)(key)))
			if err != nil || got.Granted || got.Holder != name || spanOf(got.TTL.Milliseconds()) != "old" {
				t.Errorf("%q: a mutex is %+v, %v", name, got, err)
			}
			all, _, err := script.ReadAcquiredAll(s.run(t, script.AcquireAll([]string{key}, []string{me}, lease)), 1)
			if err != nil || all.Granted || all.Holder != name {
				t.Errorf("%q: several mutexes are %+v, %v", name, all, err)
			}
			if state, err := (script.Mutex{}).ReadStatus(s.run(t, status(key))); err != nil || len(state.Holders) != 1 || state.Holders[0].Name != name || state.Holders[0].Count != "2" {
				t.Errorf("%q: the status is %+v, %v", name, state, err)
			}
			if got := label(force(key), s.run(t, force(key))); (got == "1") != uuid || !uuid && got != "error NOTLOCK" {
				t.Errorf("%q: force answers %s", name, got)
			}
			if got := label(forceFrom(name)(key), s.run(t, forceFrom(name)(key))); (got == "1") == (uuid || name == "") { // "" names nobody
				t.Errorf("%q: force from it answers %s", name, got)
			}

			s.must(t, "HSET", key, "mode", "read", name, "1")
			s.must(t, "SET", protocol.ReadTimeoutKey(key, name, 1), "1", "PX", "40000")
			s.expire(t, key, "lease")
			got, err = script.ReadAcquired(s.run(t, rwAcquire("A", 1, 0)(key)))
			if err != nil || got.Granted || got.Holder != name || spanOf(got.TTL.Milliseconds()) != "old" {
				t.Errorf("%q: beside it a writer is %+v, %v", name, got, err)
			}
			s.clearRW(t, key)
			s.must(t, "HSET", key, "mode", "write", name+":write", "1")
			s.expire(t, key, "old")
			got, err = script.ReadAcquired(s.run(t, rwAcquire("A", 0, 1)(key)))
			if err != nil || got.Granted || got.Holder != name {
				t.Errorf("%q: beside it as a writer a reader is %+v, %v", name, got, err)
			}
			s.clearRW(t, key)
		}
	})
}
