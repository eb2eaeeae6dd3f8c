package fence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// onEachRedis runs a check on a real server and on the embedded one.
func onEachRedis(t *testing.T, check func(t *testing.T, guard fence.Redis)) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		d, err := rueidis.Open(t.Context(), rueidis.Options{Address: redistest.Shared(t).Addr()})
		must(t, err)
		defer d.Close()
		check(t, fence.Redis{Driver: d})
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		d, err := memory.Open(t.Context(), memory.Options{})
		must(t, err)
		defer d.Close()
		check(t, fence.Redis{Driver: d})
	})
}

// ask sends a command past the guard.
func ask(t *testing.T, guard fence.Redis, words ...string) driver.Reply {
	t.Helper()
	reply := guard.Driver.Do(t.Context(), driver.Command{Words: words, Key: words[1]})
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}

func TestRedisRefusesAStaleHolder(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		key := redistest.Name(t)
		fencetest.Refuses(t, func(token int64) error {
			err := guard.Set(t.Context(), token, key, strconv.FormatInt(token, 10))
			if now := ask(t, guard, "GET", key).Str; (now == strconv.FormatInt(token, 10)) != (err == nil) {
				t.Errorf("token %d: %v, and the value is %q", token, err, now)
			}
			return err
		})
	})
}

func TestRedisIsAStore(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		fencetest.Keeps(t, guard)
		resource := redistest.Name(t)
		must(t, guard.Pass(t.Context(), 1, resource))
		if n := ask(t, guard, "EXISTS", resource).Int; n != 0 {
			t.Error("a pass has touched the key of the resource")
		}
	})
}

// Method: writers push their tokens onto a list through the guard. The list is the
// order in which they passed.
func TestRedisNeverGoesBack(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		list := redistest.Name(t)
		passed, _ := fencetest.Crowd(t, 8, 100, func(token int64) error {
			_, err := guard.Do(t.Context(), token, "RPUSH", list, strconv.FormatInt(token, 10))
			return err
		})
		var order []int64
		for _, item := range ask(t, guard, "LRANGE", list, "0", "-1").Array {
			token, err := strconv.ParseInt(item.Str, 10, 64)
			must(t, err)
			order = append(order, token)
		}
		if !slices.IsSorted(order) || int64(len(order)) != passed {
			t.Errorf("%d passed and wrote %v", passed, order)
		}
	})
}

func TestRedisRunsAnyCommandOnTheKey(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		hash, list := redistest.Name(t), redistest.Name(t)
		do := func(command, key string, args ...string) driver.Reply {
			t.Helper()
			reply, err := guard.Do(t.Context(), 7, command, key, args...)
			must(t, err)
			return reply
		}
		if r := do("HSET", hash, "a", "1", "b", ""); r.Int != 2 {
			t.Errorf("HSET: %+v", r)
		}
		if r := do("HGET", hash, "a"); r.Str != "1" {
			t.Errorf("HGET: %+v", r)
		}
		if r := do("HGET", hash, "c"); !r.IsNil {
			t.Errorf("HGET of nothing: %+v", r)
		}
		do("SET", list, "9007199254740992")
		if r := do("INCR", list); r.Int != 1<<53 || do("GET", list).Str != "9007199254740993" {
			t.Errorf("INCR beyond 2^53: %+v, which the documentation says is rounded in the reply alone", r)
		}
		do("DEL", list)
		do("RPUSH", list, "x", "y\r\n\x00")
		if r := do("LRANGE", list, "0", "-1"); len(r.Array) != 2 || r.Array[1].Str != "y\r\n\x00" {
			t.Errorf("LRANGE: %+v", r)
		}
		if r := do("DEL", list); r.Int != 1 {
			t.Errorf("DEL: %+v", r)
		}
		// What was deleted is guarded all the same.
		_, err := guard.Do(t.Context(), 6, "RPUSH", list, "late")
		fencetest.WantStale(t, err, 6, 7)
	})
}

func TestRedisTellsACommandThatFailsFromARefusal(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		key := redistest.Name(t)
		ask(t, guard, "SET", key, "text")
		_, err := guard.Do(t.Context(), 7, "HSET", key, "a", "1")
		var refused *driver.ServerError
		if !errors.As(err, &refused) || refused.Code() != "WRONGTYPE" || errors.Is(err, fence.ErrStale) {
			t.Errorf("HSET on a string: %v, want the server's WRONGTYPE", err)
		}
		if got := ask(t, guard, "GET", key).Str; got != "text" {
			t.Errorf("the value is %q", got)
		}
		if _, err := guard.Do(t.Context(), 7, "", key); err == nil {
			t.Error("a command without a name passed")
		}
		_, err = guard.Do(t.Context(), 8, "NOSUCHCOMMAND", key)
		if !errors.As(err, &refused) || errors.Is(err, fence.ErrStale) {
			t.Errorf("a command that does not exist: %v", err)
		}
		// It has passed in vain: nobody newer is kept out, and nobody older gets in.
		fencetest.WantStale(t, guard.Set(t.Context(), 7, key, "late"), 7, 8)
	})
}

func TestRedisRemembersTheTokenBesideTheKey(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		key := redistest.Name(t)
		tagged := "a{" + key + "}b"
		for name, beside := range map[string]string{
			key:    "redlatch:fence:{" + key + "}",
			tagged: "redlatch:fence:{" + key + "}:" + tagged,
		} {
			must(t, guard.Set(t.Context(), 12, name, "v"))
			if got := ask(t, guard, "GET", beside).Str; got != "12" {
				t.Errorf("%s holds %q, want 12", beside, got)
			}
			if ttl := ask(t, guard, "PTTL", beside).Int; ttl != -1 {
				t.Errorf("%s lives for %d ms, want for ever", beside, ttl)
			}
		}
	})
}

func TestRedisForgetsAfterKeep(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		key, keep := redistest.Name(t), time.Hour
		guard.Keep = keep
		must(t, guard.Set(t.Context(), 12, key, "v"))
		ttl := time.Duration(ask(t, guard, "PTTL", "redlatch:fence:{"+key+"}").Int) * time.Millisecond
		if ttl > keep || ttl < keep-time.Minute {
			t.Errorf("the token is remembered for %v, want %v", ttl, keep)
		}
		if ttl := ask(t, guard, "PTTL", key).Int; ttl != -1 {
			t.Errorf("the value itself lives for %d ms", ttl)
		}
		for _, wrong := range []time.Duration{-1, time.Microsecond} {
			guard.Keep = wrong
			if err := guard.Set(t.Context(), 12, key, "w"); err == nil {
				t.Errorf("Keep %v was accepted", wrong)
			}
		}
	})
}

func TestRedisLeavesAloneWhatIsNoToken(t *testing.T) {
	onEachRedis(t, func(t *testing.T, guard fence.Redis) {
		key := redistest.Name(t)
		beside := "redlatch:fence:{" + key + "}"
		for _, text := range []string{"", "0", "-5", "07", "1.5", "x"} {
			ask(t, guard, "SET", beside, text)
			err := guard.Set(t.Context(), 1<<40, key, "v")
			if refused, ok := errors.AsType[*driver.ServerError](err); !ok || refused.Code() != "NOTTOKEN" {
				t.Errorf("beside the key is %q: %v, want NOTTOKEN", text, err)
			}
		}
		ask(t, guard, "SET", beside, "9"+strings.Repeat("0", 30)) // newer than any of ours
		if err := guard.Set(t.Context(), 1<<63-1, key, "v"); err == nil || errors.Is(err, fence.ErrStale) {
			t.Errorf("beside the key is a huge number: %v", err)
		}
		ask(t, guard, "DEL", beside)
		ask(t, guard, "RPUSH", beside, "12")
		var refused *driver.ServerError
		if err := guard.Set(t.Context(), 13, key, "v"); !errors.As(err, &refused) || refused.Code() != "WRONGTYPE" {
			t.Errorf("beside the key is a list: %v, want WRONGTYPE", err)
		}
		if n := ask(t, guard, "EXISTS", key).Int; n != 0 {
			t.Error("the key was written")
		}
	})
}

// spy notes the first words of the commands that go through, and the keys of their scripts.
type spy struct {
	driver.Driver
	sent, keys []string
}

func (s *spy) Do(ctx context.Context, command driver.Command) driver.Reply {
	s.sent = append(s.sent, fmt.Sprint(command.Words[0], " ", command.Key))
	if strings.HasPrefix(command.Words[0], "EVAL") {
		n, _ := strconv.Atoi(command.Words[2])
		s.keys = append(s.keys, command.Words[3:3+n]...)
	}
	return s.Driver.Do(ctx, command)
}

// The memory server is new, so it has never seen the script.
func TestRedisSendsTheScriptOnceAndThenItsDigest(t *testing.T) {
	t.Parallel()
	d, err := memory.Open(t.Context(), memory.Options{})
	must(t, err)
	defer d.Close()
	seen, beside := &spy{Driver: d}, "redlatch:fence:{k}"
	guard := fence.Redis{Driver: seen}
	must(t, guard.Set(t.Context(), 1, "k", "v"))
	must(t, guard.Set(t.Context(), 1, "k", "v"))
	if want := []string{"EVALSHA " + beside, "EVAL " + beside, "EVALSHA " + beside}; !slices.Equal(seen.sent, want) {
		t.Errorf("sent %q, want %q", seen.sent, want)
	}
	must(t, d.Do(t.Context(), driver.Command{Words: []string{"SCRIPT", "FLUSH"}}).Err)
	must(t, guard.Set(t.Context(), 1, "k", "w"))
	if got := ask(t, guard, "GET", "k").Str; got != "w" {
		t.Errorf("after SCRIPT FLUSH the value is %q", got)
	}
}

// A reply that is lost leaves the outcome open. The guard does not decide it by sending
// the command a second time.
func TestRedisSendsNothingTwice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d, err := rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr(), CommandTimeout: time.Minute})
	must(t, err)
	defer d.Close()
	seen := &spy{Driver: d}
	guard := fence.Redis{Driver: seen}
	must(t, guard.Set(t.Context(), 1, "k", "v"))
	seen.sent = nil
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // in which it is sent
	defer cancel()
	err = guard.Set(ctx, 2, "k", "w")
	server.Thaw()
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrNotSent) {
		t.Errorf("a reply that never came: %v", err)
	}
	if len(seen.sent) != 1 {
		t.Errorf("sent %q", seen.sent)
	}
	// Nor after an answer that leaves nothing open.
	seen.sent = nil
	if _, err := guard.Do(t.Context(), 3, "HSET", "k", "a", "1"); err == nil || len(seen.sent) != 1 {
		t.Errorf("a command that is refused: %v, sent %q", err, seen.sent)
	}
}
