package script_test

import (
	"context"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: a script's header is its contract, so it names exactly the keys and arguments
// that the body uses, and exactly the replies that the body gives. The second half is
// proved by the table in mutex_test.go, which has a row for every reply.

// page is a script, read apart.
type page struct{ name, header, body string }

func pages(t *testing.T) []page {
	t.Helper()
	names, err := fs.Glob(script.Files(), "*.lua")
	if err != nil || len(names) == 0 {
		t.Fatal("no scripts:", err)
	}
	var all []page
	for _, name := range names {
		text, err := fs.ReadFile(script.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		p := page{name: strings.TrimSuffix(name, ".lua")}
		lines := strings.SplitAfter(string(text), "\n")
		end := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "--") })
		p.header = strings.Join(lines[:end], "")
		for _, line := range lines[end:] {
			if !strings.HasPrefix(strings.TrimSpace(line), "--") {
				p.body += line
			}
		}
		all = append(all, p)
	}
	return all
}

var word = regexp.MustCompile(`(KEYS|ARGV)\[([^\]]*)\]`)

// words returns the keys and arguments that a text speaks of, as KEYS[1].
func words(text string) []string {
	var all []string
	for _, match := range word.FindAllStringSubmatch(text, -1) {
		index := strings.NewReplacer(" ", "", "*", "").Replace(match[2])
		all = append(all, match[1]+"["+index+"]")
	}
	if strings.Contains(text, "ipairs(KEYS)") {
		all = append(all, "KEYS[i]")
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestAHeaderNamesExactlyTheKeysAndArgumentsThatTheBodyUses(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		var described []string // at the beginning of a line, with a meaning
		for line := range strings.Lines(p.header) {
			if fields := strings.Fields(line); len(fields) > 2 && word.MatchString(fields[1]) {
				described = append(described, words(fields[1])...)
			}
		}
		used := words(p.body)
		slices.Sort(described)
		if !slices.Equal(described, used) {
			t.Errorf("%s: the header describes %v, the body uses %v", p.name, described, used)
		}
		if !slices.Equal(words(p.header), used) {
			t.Errorf("%s: the header mentions %v, the body uses %v", p.name, words(p.header), used)
		}
		if !strings.HasPrefix(p.header, "-- "+p.name+": ") {
			t.Errorf("%s: the header does not begin with its name and purpose", p.name)
		}
	}
}

// What a script may not do: write a key that it was not given, or what would run
// differently on a replica.
func TestABodyUsesNoKeyThatItWasNotGivenAndNoGlobalVariable(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`redis\.p?call\('([A-Z]+)', *([^,)]+)`)
	key := regexp.MustCompile(`^(lock|channel|tokens|KEYS\[\d\])$`)
	for _, p := range pages(t) {
		for _, match := range call.FindAllStringSubmatch(p.body, -1) {
			if !key.MatchString(match[2]) {
				t.Errorf("%s: %s on %q, which is none of its keys", p.name, match[1], match[2])
			}
		}
		if n := strings.Count(p.body, "redis.call(") + strings.Count(p.body, "redis.pcall("); n != len(call.FindAllString(p.body, -1)) {
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
	return []script.Call{
		script.Acquire(key, "c:1", second, 1), script.Release(key, key, "c:1", 0, second),
		script.Renew([]script.Renewal{{Lock: key, Field: "c:1", Lease: second}}),
		script.Force(key, key), script.Status(key, key),
	}
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
