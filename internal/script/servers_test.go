package script_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// onEachServer runs a test on a real Redis and on the one in memory.
func onEachServer(t *testing.T, test func(t *testing.T, s *server)) {
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, redistest.Shared(t).Addr()))
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		d := redistest.Must(memory.Open(t.Context(), memory.Options{CommandTimeout: patience}))
		t.Cleanup(d.Close)
		test(t, &server{Driver: d})
	})
}

// patience is for how long a script may take on a busy machine. What it costs the server is
// the matter of other tests.
const patience = 30 * time.Second

// server is a connection and what tests ask over it.
type server struct{ driver.Driver }

func connect(t *testing.T, address string) *server {
	t.Helper()
	return connectWith(t, rueidis.Options{Address: address, CommandTimeout: patience})
}

func connectWith(t *testing.T, options rueidis.Options) *server {
	t.Helper()
	d := redistest.Must(rueidis.Open(t.Context(), options))
	t.Cleanup(d.Close)
	return &server{Driver: d}
}

// connectBlindly connects as a user who may not ask for roles. So the driver takes a replica for a primary, and only
// the scripts notice.
func connectBlindly(t *testing.T, redis *redistest.Server) *server {
	t.Helper()
	redis.CLI(t, "ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-role")
	return connectWith(t, rueidis.Options{Address: redis.Addr(), Username: "blind", Password: "secret"})
}

// must sends a command that cannot fail.
func (s *server) must(t testing.TB, words ...string) driver.Reply {
	t.Helper()
	reply := s.Do(context.Background(), driver.Command{Words: words, Key: words[min(1, len(words)-1)]})
	if reply.Err != nil {
		t.Fatalf("%s: %v", strings.Join(words, " "), reply.Err)
	}
	return reply
}

// run sends a call as the library does.
func (s *server) run(t testing.TB, call script.Call) driver.Reply {
	t.Helper()
	result, err := script.NewRunner(s, patience).Run(context.Background(), call)
	if err != nil {
		t.Fatalf("%s: %v", call.Script(), err)
	}
	return result.Reply
}

// state is what a key holds: a hash, a string, or nothing; and the class of its TTL.
type state struct {
	fields string // "field=value field=value", sorted; a string is "=value"
	ttl    time.Duration
}

// The classes of a TTL.
const (
	none    time.Duration = -1
	missing time.Duration = -2
	slack                 = 5 * time.Second // less than the leases in the tables are apart
)

func (s *server) state(t testing.TB, key string) state {
	t.Helper()
	ttl := none
	if ms := s.must(t, "PTTL", key).Int; ms >= 0 {
		ttl = time.Duration(ms) * time.Millisecond
	} else if ms == -2 {
		return state{ttl: missing}
	}
	if s.must(t, "TYPE", key).Str == "string" {
		return state{fields: "=" + s.must(t, "GET", key).Str, ttl: ttl}
	}
	words := s.must(t, "HGETALL", key).Array
	var fields []string
	for i := 0; i+1 < len(words); i += 2 {
		fields = append(fields, words[i].Str+"="+words[i+1].Str)
	}
	slices.Sort(fields)
	return state{fields: strings.Join(fields, " "), ttl: ttl}
}

// put makes a key look like a state.
func (s *server) put(t testing.TB, key string, want state) {
	t.Helper()
	s.must(t, "DEL", key)
	for pair := range strings.FieldsSeq(want.fields) {
		field, value, _ := strings.Cut(pair, "=")
		if field == "" {
			s.must(t, "SET", key, value)
		} else {
			s.must(t, "HSET", key, field, value)
		}
	}
	if want.ttl > 0 {
		s.must(t, "PEXPIRE", key, fmt.Sprint(want.ttl.Milliseconds()))
	}
}

// is says whether a state is the one that is wanted, but for the time that has passed.
func (s state) is(want state) bool {
	if want.ttl > 0 {
		return s.fields == want.fields && s.ttl > want.ttl-slack && s.ttl <= want.ttl
	}
	return s == want
}

// subscriber receives what is published on one channel.
type subscriber struct {
	server   *server
	channel  string
	messages chan string
}

func (s *server) listen(t testing.TB, channel string) *subscriber {
	t.Helper()
	e := &subscriber{server: s, channel: channel, messages: make(chan string, 100)}
	acknowledged := make(chan struct{})
	l, err := s.Listen(t.Context(), driver.Events{
		Subscribed: func(string) { close(acknowledged) },
		Message:    func(_, payload string) { e.messages <- payload },
	})
	if err == nil {
		err = l.Subscribe(t.Context(), channel)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	select {
	case <-acknowledged:
	case <-time.After(10 * time.Second):
		t.Fatal("the subscription was not acknowledged")
	}
	return e
}

// received returns what was published since it was last asked. A message of its own
// tells it where to stop.
func (e *subscriber) received(t testing.TB) []string {
	t.Helper()
	const end = "that was all"
	e.server.must(t, "PUBLISH", e.channel, end)
	var all []string
	for {
		select {
		case payload := <-e.messages:
			if payload == end {
				return all
			}
			all = append(all, payload)
		case <-time.After(10 * time.Second):
			t.Fatal("a published message did not arrive")
		}
	}
}
