package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	pulsed      = "pulse=p"
)

// sessionRow is one call of a session's script: what is given, and what must come of it.
type sessionRow struct {
	what  string
	given state
	call  func(client string) script.Call
	reply string
	then  state
	again string // the reply to the same call
}

var sessionRows = []sessionRow{
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
	{"touch", state{mutexNoted + "," + readerNoted, old}, touch("p"), "2", state{mutexNoted + "," + readerNoted + "," + pulsed, lease}, "2"},
	{"touch what has no expiry", state{mutexNoted, none}, touch("p"), "1", state{mutexNoted + "," + pulsed, lease}, "1"},
	{"touch with another pulse", state{mutexNoted + ",pulse=q", old}, touch("p"), "1", state{mutexNoted + "," + pulsed, lease}, "1"},
	{"touch without a pulse", state{mutexNoted + "," + pulsed, old}, touch(""), "1", state{mutexNoted, lease}, "1"},
	{"touch nothing", state{}, touch("p"), "0", state{pulsed, lease}, "0"},
	{"touch nothing without a pulse", state{}, touch(""), "0", state{ttl: missing}, "0"},
	{"touch a string", state{"=x", old}, touch("p"), "error WRONGTYPE", state{"=x", old}, "error WRONGTYPE"},
	{"keep", state{mutexNoted + "," + pulsed, old}, keep(), "1", state{mutexNoted + "," + pulsed, lease}, "1"},
	{"keep for less", state{mutexNoted + "," + pulsed, 2 * lease}, keep(), "1", state{mutexNoted + "," + pulsed, 2 * lease}, "1"},
	{"keep without an expiry", state{mutexNoted + "," + pulsed, none}, keep(), "1", state{mutexNoted + "," + pulsed, none}, "1"},
	{"keep without one", state{mutexNoted + "," + readerNoted + "," + pulsed, old}, keep(mutexEntry), "1", state{readerNoted + "," + pulsed, lease}, "1"},
	{"keep without the last", state{mutexNoted + "," + pulsed, old}, keep(mutexEntry), "1", state{pulsed, lease}, "1"},
	{"keep one of another pulse", state{mutexNoted + ",pulse=q", old}, keep(mutexEntry), "0", state{mutexNoted + ",pulse=q", old}, "0"},
	{"keep one without a pulse", state{mutexNoted, old}, keep(mutexEntry), "0", state{mutexNoted, old}, "0"},
	{"keep nothing", state{}, keep(), "0", state{ttl: missing}, "0"},
	{"keep a string", state{"=x", old}, keep(), "0", state{"=x", old}, "0"},
	{"remove", state{mutexNoted + "," + pulsed, old}, remove, "1", state{ttl: missing}, "0"},
	{"remove one of another pulse", state{mutexNoted + ",pulse=q", old}, remove, "0", state{mutexNoted + ",pulse=q", old}, "0"},
	{"remove a stranger's hash", state{"theme=dark", none}, remove, "0", state{"theme=dark", none}, "0"},
	{"remove a string", state{"=p", old}, remove, "0", state{"=p", old}, "0"},
	{"drop", state{mutexNoted, old}, script.SessionDrop, "1", state{ttl: missing}, "0"},
	{"drop nothing", state{}, script.SessionDrop, "0", state{ttl: missing}, "0"},
}

// Goal: each script of a session leaves what its header promises, also when it is repeated.
func TestASessionSaysWhatItIsTold(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, r := range sessionRows {
			t.Run(r.what, func(t *testing.T) { s.runTwice(t, r) })
		}
	})
}

func (s *server) runTwice(t *testing.T, r sessionRow) {
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

func touch(pulse string) func(string) script.Call {
	return func(client string) script.Call { return script.SessionTouch(client, lease, pulse) }
}

func keep(gone ...script.SessionEntry) func(string) script.Call {
	return func(client string) script.Call {
		var keys []string
		for _, e := range gone {
			keys = append(keys, e.Key())
		}
		return script.SessionKeep(client, "p", lease, keys...)
	}
}

func remove(client string) script.Call { return script.SessionRemove(client, "p") }

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
