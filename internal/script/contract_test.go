package script_test

import (
	"context"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: a script's header is its contract, so it names exactly the keys and arguments
// that the body uses, and exactly the replies that the body gives. The second half is
// proved for the mutex by the table in mutex_test.go, which has a row for every reply.

// page is a script, read apart. What it begins with in common with others belongs to
// its body, and the comment on that to its header.
type page struct{ name, header, body string }

func pages(t *testing.T) []page {
	t.Helper()
	names, err := fs.Glob(script.Files(), "*.lua")
	if err != nil || len(names) == 0 {
		t.Fatal("no scripts:", err)
	}
	sources := make(map[string]string)
	for _, call := range oneOfEach("k") {
		sources[call.Script()] = call.Source()
	}
	var all []page
	for _, name := range names {
		text, err := fs.ReadFile(script.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		p := page{name: strings.TrimSuffix(name, ".lua")}
		p.read(string(text))
		common, _ := strings.CutSuffix(sources[p.name], string(text))
		p.read(common)
		all = append(all, p)
	}
	return all
}

// read takes a text apart: the comment that it begins with, and the code.
func (p *page) read(text string) {
	head := true
	for line := range strings.Lines(text) {
		comment := strings.HasPrefix(strings.TrimSpace(line), "--")
		head = head && comment
		switch {
		case head:
			p.header += line
		case !comment:
			p.body += line
		}
	}
}

var (
	numbered = regexp.MustCompile(`\b(?:KEYS|ARGV)\[\d+\]`)
	// open are the words of which there may be any number: in a header "KEYS[3+]" or
	// a bare "KEYS", in a body an index that is worked out, or all of them at once.
	openHeader = regexp.MustCompile(`(?m)^-- (KEYS|ARGV)(?:\[\d+\+\]| ) `)
	openBody   = regexp.MustCompile(`\b(KEYS|ARGV)(?:\[[^\]]*[^\d\]][^\]]*\]|[,)])`)
)

func TestAHeaderNamesExactlyTheKeysAndArgumentsThatTheBodyUses(t *testing.T) {
	t.Parallel()
	described := regexp.MustCompile(`(?m)(?:^-- |   )((?:KEYS|ARGV)\[\d+\]) +\S`)
	for _, p := range pages(t) {
		used := sorted(numbered.FindAllString(p.body, -1))
		if got := sorted(submatches(described, p.header)); !slices.Equal(got, used) {
			t.Errorf("%s: the header describes %v, the body uses %v", p.name, got, used)
		}
		if got := sorted(numbered.FindAllString(p.header, -1)); !slices.Equal(got, used) {
			t.Errorf("%s: the header mentions %v, the body uses %v", p.name, got, used)
		}
		if got, want := sorted(submatches(openHeader, p.header)), sorted(submatches(openBody, p.body)); !slices.Equal(got, want) {
			t.Errorf("%s: the header leaves open how many %v there are, the body counts %v", p.name, got, want)
		}
		if !strings.HasPrefix(p.header, "-- "+p.name+": ") {
			t.Errorf("%s: the header does not begin with its name and purpose", p.name)
		}
	}
}

func submatches(pattern *regexp.Regexp, text string) []string {
	var all []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// sorted has every word once.
func sorted(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// Keys are given, or derived from a prefix that is given, which in a cluster has the
// slot of the lock. A channel is no key.
func TestABodyUsesNoKeyThatItWasNotGiven(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`(?:redis\.p?call\((?:'([A-Z]+)'(?:, 'USAGE')?|verb)|\b(?:raise|confirm|gone|keep|held|issue|bulky|last_token)\()(?:, *)?([^,)]+)?`)
	command := regexp.MustCompile(`redis\.p?call\(|\b(?:raise|confirm|gone|keep|held|issue|bulky|last_token)\(`)
	key := regexp.MustCompile(`^(|lock|key|note|note_key\((?:lock|counter|KEYS\[1\])|channel|tokens|queue|deadlines|keepalives|set|counter|record|KEYS\[(\w+|reads \+ 2)\]|(prefix|ARGV\[\d\]) \.\. .*)$`)
	for _, p := range pages(t) {
		for _, match := range call.FindAllStringSubmatch(p.body, -1) {
			if !key.MatchString(match[2]) {
				t.Errorf("%s: %s on %q, which is none of its keys", p.name, match[1], match[2])
			}
		}
		if n := len(command.FindAllString(p.body, -1)); n != len(call.FindAllString(p.body, -1)) {
			t.Errorf("%s: a command that this test cannot read", p.name)
		}
	}
}

func TestEveryScriptLoadsOnEveryServer(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, p := range pages(t) {
			text, _ := fs.ReadFile(script.Files(), p.name+".lua")
			if reply := s.must(t, "SCRIPT", "LOAD", string(text)); len(reply.Str) != 40 {
				t.Errorf("%s: loaded as %+v", p.name, reply)
			}
		}
	})
}

// The digest that a call sends is the one that the server computes.
func TestAScriptIsKnownByItsDigestOnceItWasLoaded(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, call := range oneOfEach("k") {
			s.must(t, "SCRIPT", "LOAD", call.Source())
			spy := &spy{Driver: s}
			if _, err := script.NewRunner(spy, second).Run(t.Context(), call); err != nil {
				t.Error(call.Script(), err)
			}
			if len(spy.sent) != 1 || spy.sent[0][0] != "EVALSHA" {
				t.Errorf("%s: sent %v", call.Script(), spy.sent)
			}
		}
	})
}

// oneOfEach has one call of every script.
func oneOfEach(key string) []script.Call {
	fair := script.NewFair(key, second, protocol.Plain)
	return []script.Call{
		script.Mutex{Lock: key}.Acquire("c:1", script.Counts{Writes: 1}, second, false), script.Mutex{Lock: key, Channel: key, Via: protocol.Plain}.Release("c:1", 0, script.Counts{}, second),
		script.Renew([]script.Renewal{{Lock: key, Field: "c:1", Lease: second}}), script.Mutex{Lock: key, Channel: key}.MinHold("c:1", second, true),
		script.NewRW(key, protocol.Plain).Move("c:1", "c:2", true, second), script.Mutex{Lock: key}.Recall("c:1", "a"), permits(key).Move(permit1, permit1, false, second),
		script.Mutex{Lock: key, Channel: key, Via: protocol.Plain}.Force(""), script.Mutex{Lock: key}.Status("")[0],
		script.NewRW(key, protocol.Plain).Acquire("c:1", script.Counts{Reads: 1}, second, false),
		script.NewRW(key, protocol.Plain).Release("c:1", 1, script.Counts{}, second),
		script.NewRW(key, protocol.Plain).Force(""), script.NewRW(key, protocol.Plain).Status("")[0],
		fair.Acquire("c:1", script.Counts{Writes: 1}, second, true), fair.Release("c:1", 0, script.Counts{}, second), fair.KeepAlive("c", []string{"c:1"}, nil),
		fair.Force(""), fair.Status("")[1], script.AcquireAll([]string{key}, []string{"c:1"}, second),
		script.SessionNote(key, second, script.SessionEntry{Field: "c:1", Lock: key, Count: 1, Lease: second}),
		script.SessionForget(key, "c:1 "+key), script.SessionTouch(key, second, "p"), script.SessionRead(key, "0"), script.SessionDrop(key),
		script.SessionWaits(key, second), script.SessionsKnown(1),
		script.SessionHeartbeat(key, second), script.SessionEnd(key), script.SessionsStalled(script.Cursor{}, 1), script.SessionsDue([]string{"c"}), script.WatchdogHeartbeat(key, second),
		semaphore(key).Acquire(request(key), 1), semaphore(key).Cancel(request(key), 0), semaphore(key).Add(1, request(key)),
		semaphore(key).Drain(request(key)), semaphore(key).Set(1, request(key)), script.NewLatch(key, protocol.Plain).CountDown(request(key)),
		permits(key).Acquire(permit1, script.Counts{Writes: 1}, second, true), permits(key).Release(permit1, 0, script.Counts{}, second),
		script.Renew([]script.Renewal{permits(key).Renewal(permit1, script.Counts{}, false, second)}), permits(key).Read(), script.InspectCounter(key, 9, false), script.Ran(key, time.Unix(1, 0), 7),
		script.SessionKeep(key, "p", second), script.SessionRemove(key, "p"), script.Inspect(key, 10, false), renewed(script.SessionEntry{Field: "c:1", Lock: key, Lease: second}),
	}
}

const permit1 = "00112233445566778899aabbccddeeff"

func semaphore(key string) script.Semaphore { return script.NewSemaphore(key, protocol.Plain) }

func permits(key string) script.Permits { return script.NewPermits(key, protocol.Plain) }

// request is the first one of its slot.
func request(key string) script.Request {
	return script.Request{Record: "{" + key + "}:record", Number: 1, Keep: 10 * second}
}

// renewed is the call that renews an entry without an end.
func renewed(e script.SessionEntry) script.Call {
	call, _ := script.SessionRenew(e, time.Time{})
	return call
}

func TestEveryScriptHasACall(t *testing.T) {
	t.Parallel()
	var called []string
	for _, call := range oneOfEach("k") {
		called = append(called, call.Script())
	}
	slices.Sort(called)
	var written []string
	for _, p := range pages(t) {
		written = append(written, p.name)
	}
	if !slices.Equal(called, written) {
		t.Errorf("there are calls of %v and files of %v", called, written)
	}
}

// spy notes the commands that go through.
type spy struct {
	driver.Driver
	sent [][]string
}

func (s *spy) Do(ctx context.Context, command driver.Command) driver.Reply {
	s.sent = append(s.sent, command.Words)
	return s.Driver.Do(ctx, command)
}

func (s *spy) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	for _, command := range commands {
		s.sent = append(s.sent, command.Words)
	}
	return s.Driver.Pipeline(ctx, commands...)
}
