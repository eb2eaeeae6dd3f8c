package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redlatch/redlatch/driver"
)

func repliesOfEveryKind(t *testing.T, d driver.Driver) {
	key := unique()
	text := func(s string) driver.Reply { return driver.Reply{Str: s} }
	number := func(n int64) driver.Reply { return driver.Reply{Int: n} }
	list := func(r ...driver.Reply) driver.Reply { return driver.Reply{Array: r} }
	for _, c := range []struct {
		command driver.Command
		want    driver.Reply
	}{
		{command("GET", key), driver.Reply{IsNil: true}},
		{command("SET", key, "value"), text("OK")},
		{command("SET", key, "other", "NX"), driver.Reply{IsNil: true}},
		{command("GET", key), text("value")},
		{command("SET", key, ""), text("OK")},
		{command("GET", key), text("")},
		{command("DEL", key), number(1)},
		{command("DECRBY", key, "7"), number(-7)},
		{command("SET", key, "9223372036854775806"), text("OK")},
		{command("INCR", key), number(math.MaxInt64)},
		{eval("return false", key), driver.Reply{IsNil: true}},
		{eval("return {1, 'two', false, {3, {'four'}}}", key), list(
			number(1), text("two"), driver.Reply{IsNil: true}, list(number(3), list(text("four"))))},
		{command("DEL", key), number(1)},
		{command("ZADD", key, "1.5", "member"), number(1)},
		{command("ZSCORE", key, "member"), text("1.5")},
		{command("DEL", key), number(1)},
		{command("HSET", key, "field", "value"), number(1)},
		{command("HGETALL", key), list(text("field"), text("value"))},
		{command("HMGET", key, "field", "none"), list(text("value"), driver.Reply{IsNil: true})},
	} {
		if got := d.Do(context.Background(), c.command); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q = %+v, want %+v", c.command.Words, got, c.want)
		}
	}
	if got := d.Do(t.Context(), eval("return {}", key)); got.Err != nil || got.IsNil || len(got.Array) != 0 {
		t.Errorf("an empty array = %+v", got)
	}
}

func binaryDataIsKept(t *testing.T, d driver.Driver) {
	key := unique() + "\x00\r\n\xff{ä}"
	value := "\r\n$-1\r\n\x00\xfe*ü"
	do(t, d, command("SET", key, value))
	if got := do(t, d, command("GET", key)).Str; got != value {
		t.Errorf("got %q, want %q", got, value)
	}
}

// errorRepliesAreServerErrors checks the code, which is the first word of the text.
func errorRepliesAreServerErrors(t *testing.T, d driver.Driver) {
	key := unique()
	do(t, d, command("SET", key, "text"))
	check := func(c driver.Command, code string) {
		t.Helper()
		reply := d.Do(t.Context(), c)
		if refused, ok := errors.AsType[*driver.ServerError](reply.Err); !ok || refused.Code() != code {
			t.Errorf("%q = %+v, want a server error %s", c.Words, reply, code)
		}
		if errors.Is(reply.Err, driver.ErrNotSent) {
			t.Errorf("%q: the server answered, yet the error claims that nothing was sent: %v", c.Words, reply.Err)
		}
	}
	check(command("LPUSH", key, "element"), "WRONGTYPE")
	check(command("REDLATCH-NO-SUCH-COMMAND", key), "ERR")
	check(command("EXPIRE", key), "ERR")
	check(driver.Command{Words: []string{"EVALSHA", strings.Repeat("0", 40), "1", key}, Key: key}, "NOSCRIPT")
	for _, code := range []string{"READONLY", "LOADING", "BUSY", "MASTERDOWN", "ANYTHING"} {
		check(eval("return redis.error_reply('"+code+" as it says')", key), code)
	}
}

func scriptsRunByTheirDigest(t *testing.T, d driver.Driver) {
	const script = "redis.call('set', KEYS[1], ARGV[1]); return {KEYS[2], ARGV[2], ARGV[3]}"
	key := unique()
	digest := do(t, d, driver.Command{Words: []string{"SCRIPT", "LOAD", script}, Key: key}).Str
	got := do(t, d, driver.Command{
		Words: []string{"EVALSHA", digest, "2", "{" + key + "}:1", "{" + key + "}:2", "a", "b", "c"},
		Key:   "{" + key + "}:1",
	})
	want := []driver.Reply{{Str: "{" + key + "}:2"}, {Str: "b"}, {Str: "c"}}
	if !reflect.DeepEqual(got.Array, want) {
		t.Errorf("got %+v, want %+v", got.Array, want)
	}
	if got := do(t, d, command("GET", "{"+key+"}:1")).Str; got != "a" {
		t.Errorf("the script wrote %q, want %q", got, "a")
	}
}

func pipelinesKeepTheirOrder(t *testing.T, d driver.Driver) {
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			key := unique()
			commands := make([]driver.Command, 100)
			for i := range commands {
				commands[i] = command("INCR", key)
			}
			for i, reply := range d.Pipeline(t.Context(), commands...) {
				if reply.Err != nil || reply.Int != int64(i)+1 {
					t.Errorf("reply %d = %+v", i, reply)
					return
				}
			}
		})
	}
	callers.Wait()
	if replies := d.Pipeline(t.Context()); len(replies) != 0 {
		t.Errorf("no commands have %d replies", len(replies))
	}
}

func errorDoesNotStopPipeline(t *testing.T, d driver.Driver) {
	key := unique()
	replies := d.Pipeline(t.Context(),
		command("SET", key, "5"), command("LPUSH", key, "element"), command("INCR", key), command("GET", key))
	var refused *driver.ServerError
	switch {
	case len(replies) != 4:
		t.Fatalf("4 commands have %d replies", len(replies))
	case replies[0].Str != "OK":
		t.Errorf("first reply: %+v", replies[0])
	case !errors.As(replies[1].Err, &refused) || refused.Code() != "WRONGTYPE":
		t.Errorf("second reply: %+v, want WRONGTYPE", replies[1])
	case replies[2].Int != 6 || replies[3].Str != "6":
		t.Errorf("replies behind the error: %+v", replies[2:])
	}
}

// longPipelinesStayOnOneConnection: some clients move long pipelines to another
// connection, and big ones fill every buffer on the way before the first reply
// is read.
func longPipelinesStayOnOneConnection(t *testing.T, d driver.Driver) {
	key, padding := unique(), strings.Repeat("x", 200)
	commands := make([]driver.Command, 10_000)
	for i := range commands {
		if i%2 == 0 {
			commands[i] = command("INCR", key)
		} else {
			commands[i] = command("ECHO", strconv.Itoa(i)+padding)
		}
	}
	replies := d.Pipeline(context.Background(), commands...)
	if len(replies) != len(commands) {
		t.Fatalf("%d commands have %d replies", len(commands), len(replies))
	}
	for i, got := range replies {
		want := driver.Reply{Int: int64(i/2) + 1}
		if i%2 == 1 {
			want = driver.Reply{Str: strconv.Itoa(i) + padding}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("reply %d = %+v, want %+v", i, got, want)
		}
	}
}

func bigValues(t *testing.T, d driver.Driver) {
	key, value := unique(), strings.Repeat("0123456789abcdef", 1<<15)
	do(t, d, command("SET", key, value))
	if got := do(t, d, command("GET", key)).Str; got != value {
		t.Errorf("got %d bytes, want the %d that were set", len(got), len(value))
	}
	do(t, d, command("DEL", key))
}

func manyCallersAtOnce(t *testing.T, d driver.Driver) {
	const callers, rounds = 200, 20
	shared := unique()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			own := fmt.Sprintf("%s-%d", shared, caller)
			for round := range rounds {
				value := strconv.Itoa(round)
				replies := d.Pipeline(t.Context(), command("SET", own, value), command("GET", own))
				single := d.Do(t.Context(), command("INCR", shared))
				if replies[1].Str != value || single.Err != nil {
					t.Errorf("caller %d, round %d: %+v, %+v", caller, round, replies, single)
					return
				}
			}
		})
	}
	all.Wait()
	if got := do(t, d, command("GET", shared)).Str; got != strconv.Itoa(callers*rounds) {
		t.Errorf("%s increments arrived, want %d", got, callers*rounds)
	}
}

func namelessCommandsAreNotSent(t *testing.T, d driver.Driver) {
	key := unique()
	for _, nameless := range []driver.Command{{}, {Words: []string{""}}} {
		if reply := d.Do(t.Context(), nameless); !errors.Is(reply.Err, driver.ErrNotSent) {
			t.Errorf("Do: %+v, want ErrNotSent", reply)
		}
		for name, send := range pipelines(d) {
			for _, reply := range send(t.Context(), command("SET", key, "x"), nameless) {
				if !errors.Is(reply.Err, driver.ErrNotSent) {
					t.Errorf("%s: %+v, want ErrNotSent", name, reply)
				}
			}
		}
	}
	if got := do(t, d, command("GET", key)); !got.IsNil {
		t.Errorf("part of a pipeline was sent: %+v", got)
	}
}
