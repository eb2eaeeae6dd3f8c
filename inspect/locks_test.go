package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: every kind of lock is found without its name, and is described as its client knows it.
// Method: a client takes one of each kind; waiters wait.
func TestFindsEveryKindOfLock(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		i := inspector(t, c.Driver(), fast)
		owner := c.WithOwner(t.Context())
		hold, err := c.Mutex(p+"mutex").Lock(owner, redlatch.WithFencing())
		must(t, hold, err)
		again, err := c.Mutex(p + "mutex").Lock(owner)
		must(t, again, err)
		fair, err := c.FairMutex(p + "fair").Lock(t.Context())
		must(t, fair, err)
		reader, err := c.RWMutex(p + "table").RLock(t.Context())
		must(t, reader, err)
		writer, err := c.RWMutex(p + "written").Lock(t.Context())
		must(t, writer, err)
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 2)
		go func() { _, err := c.FairMutex(p + "fair").Lock(ctx); waited <- err }()
		go func() { _, err := c.Mutex(p + "mutex").Lock(ctx); waited <- err }()
		defer func() { cancel(); <-waited; <-waited }()
		eventually(t, func() bool {
			fair, _ := i.Lock(t.Context(), p+"fair")
			mutex, _ := i.Lock(t.Context(), p+"mutex")
			return len(fair.Queue) == 1 && mutex.Waiting == 1
		}, "both wait")

		all := walked(t, i, p+"*")
		if len(all) != 4 {
			t.Errorf("found %d locks, want 4: %v", len(all), all)
		}
		l := all[p+"mutex"]
		if l.Kind != inspect.KindMutex || l.Mode != redlatch.ModeExclusive || l.Token == 0 || l.Waiting != 1 || len(l.Holders) != 1 {
			t.Fatalf("mutex: %+v", l)
		}
		if h := l.Holders[0]; h.Owner != hold.Owner() || h.Count != 2 || h.Write || h.TTL <= 0 || h.TTL > 30*time.Second || h.TTL != l.TTL {
			t.Errorf("holder: %+v", h)
		}
		if l := all[p+"fair"]; l.Kind != inspect.KindFair || l.Queued != 1 || l.Waiting != 1 || l.Queue[0].Deadline.Before(time.Now()) {
			t.Errorf("fair: %+v", l)
		}
		if l := all[p+"table"]; l.Kind != inspect.KindReadWrite || l.Mode != redlatch.ModeRead || len(l.Holders[0].Holds) != 1 || l.Holders[0].Holds[0] <= 0 {
			t.Errorf("table: %+v", l)
		}
		if l := all[p+"written"]; l.Mode != redlatch.ModeWrite || !l.Holders[0].Write || l.Holders[0].Owner != writer.Owner() {
			t.Errorf("written: %+v", l)
		}
		for name, l := range all {
			if len(l.Findings) > 0 || time.Since(l.Seen) > time.Minute {
				t.Errorf("%s: %+v", name, l)
			}
		}
	})
}

// Goal: each thing that can be wrong with a lock has its finding, and a sound lock has none.
func TestFindings(t *testing.T) {
	t.Parallel()
	hour := "3600000"
	for _, c := range []struct {
		name, want string
		make       [][]string
	}{
		{"sound", "", [][]string{{"HSET", "@", java(1, 1), "1"}, {"PEXPIRE", "@", hour}}},
		{"endless", "no-ttl", [][]string{{"HSET", "@", java(1, 1), "1"}}},
		{"two UUIDs", "", [][]string{{"HSET", "@", java(1, 1)[:37] + java(2, 1)[:36], "1"}, {"PEXPIRE", "@", hour}}},
		{"dead reader", "dead-reader", [][]string{
			{"HSET", "@", "mode", "read", java(1, 1), "1", java(2, 1), "1"}, {"PEXPIRE", "@", hour},
			{"SET", "{@}:" + java(1, 1) + ":rwlock_timeout:1", "1", "PX", hour},
		}},
		{"living reader", "", [][]string{
			{"HSET", "@", "mode", "read", java(1, 1), "2"}, {"PEXPIRE", "@", hour},
			{"SET", "{@}:" + java(1, 1) + ":rwlock_timeout:2", "1", "PX", hour},
		}},
		{"queue without deadline", "queue-mismatch", [][]string{
			{"HSET", "@", java(1, 1), "1"}, {"PEXPIRE", "@", hour}, {"RPUSH", "redisson_lock_queue:{@}", java(2, 1)},
		}},
		{"deadline of another", "queue-mismatch", [][]string{
			{"HSET", "@", java(1, 1), "1"}, {"PEXPIRE", "@", hour}, {"RPUSH", "redisson_lock_queue:{@}", java(2, 1)},
			{"ZADD", "redisson_lock_timeout:{@}", "99999999999999", java(3, 1)},
		}},
		{"queue of another type", "queue-mismatch", [][]string{
			{"HSET", "@", java(1, 1), "1"}, {"PEXPIRE", "@", hour}, {"SET", "redisson_lock_queue:{@}", "x"},
		}},
		{"a queue alone", "", [][]string{
			{"RPUSH", "redisson_lock_queue:{@}", java(2, 1)}, {"ZADD", "redisson_lock_timeout:{@}", "99999999999999", java(2, 1)},
		}},
		{"a dead queue", "abandoned-queue", [][]string{
			{"RPUSH", "redisson_lock_queue:{@}", java(2, 1)}, {"ZADD", "redisson_lock_timeout:{@}", "1000", java(2, 1)},
		}},
		{"data with a queue", "wrong-type", [][]string{
			{"SET", "@", "text"}, {"RPUSH", "redisson_lock_queue:{@}", java(2, 1)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, client *redlatch.Client, p string) {
				name := p + "x"
				for _, words := range c.make {
					do(t, client.Driver(), named(words, name)...)
				}
				l, ok := walked(t, inspector(t, client.Driver(), fast), p+"*")[name]
				if !ok || codes(l) != c.want {
					t.Errorf("found %v: %+v, want %q", ok, l, c.want)
				}
			})
		})
	}
}

// named puts a lock's name in place of "@".
func named(words []string, name string) []string {
	all := make([]string, len(words))
	for n, word := range words {
		all[n] = word
		if before, after, ok := cut(word); ok {
			all[n] = before + name + after
		}
	}
	return all
}

func cut(word string) (before, after string, ok bool) {
	for n := range len(word) {
		if word[n] == '@' {
			return word[:n], word[n+1:], true
		}
	}
	return word, "", false
}

// Goal: keys that are no locks are no locks, whatever they look like, and a key that nobody can know
// about is named by the one who asks for it.
func TestDataIsNoLock(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		d := c.Driver()
		i := inspector(t, d, fast)
		for name, words := range map[string][]string{
			"text": {"SET", "text"}, "list": {"RPUSH", "list", "a"}, "set": {"SADD", "a"}, "zset": {"ZADD", "1", "a"},
			"visits":   {"HSET", "visits", "7"},
			"negative": {"HSET", java(1, 1), "-1"}, "zero": {"HSET", java(1, 1), "0"}, "huge": {"HSET", java(1, 1), "65537"},
			"float": {"HSET", java(1, 1), "1.5"}, "two": {"HSET", java(1, 1), "1", java(2, 1), "1"},
			"mode":   {"HSET", "mode", "read"},
			"modes":  {"HSET", "mode", "dark", java(1, 1), "1"},
			"mixed":  {"HSET", "mode", "read", java(1, 1), "1", "visits", "5"},
			"binary": {"HSET", "\x00\xff", "1"},
		} {
			do(t, d, append([]string{words[0], p + name}, words[1:]...)...)
		}
		if all := walked(t, i, p+"*"); len(all) != 0 {
			t.Errorf("found %v", all)
		}
		for name, want := range map[string]string{"text": "wrong-type", "two": "wrong-type", "negative": "wrong-type", "visits": "foreign-owner no-ttl"} {
			l, err := i.Lock(t.Context(), p+name)
			if codes(l) != want || errors.Is(err, redlatch.ErrWrongType) != (want == "wrong-type") {
				t.Errorf("%s: %v, %+v, want %s", name, err, l, want)
			}
		}
		if l, err := i.Lock(t.Context(), p+"free"); err != nil || l.Mode != "" || l.TTL != 0 || len(l.Findings) > 0 || l.Waiting != 0 {
			t.Errorf("free: %+v, %v", l, err)
		}
		if _, err := i.Lock(t.Context(), ""); !errors.Is(err, redlatch.ErrInvalidName) {
			t.Errorf("no name: %v", err)
		}
	})
}

// Goal: names are any bytes. Method: locks of Redisson's shape have names that redlatch itself would
// refuse.
func TestNamesAreAnyBytes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		i := inspector(t, c.Driver(), fast)
		names := []string{"\x00", "\xff\xfe", "a b\n", "{tag}x", "half{brace", "}", "*", "[a", `\`, "{", "ü", "a:b:c"}
		for n, name := range names {
			do(t, c.Driver(), "HSET", p+name, java(n, 1), "1")
			do(t, c.Driver(), "PEXPIRE", p+name, "3600000")
		}
		all := walked(t, i, p+"*")
		for n, name := range names {
			if l := all[p+name]; len(l.Holders) != 1 || l.Holders[0].Owner != java(n, 1) || codes(l) != "" {
				t.Errorf("%q: %+v", name, l)
			}
		}
		if len(all) != len(names) {
			t.Errorf("found %d, want %d", len(all), len(names))
		}
	})
}

// Goal: a pattern chooses, and what has no special character is one name.
func TestPatterns(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		i := inspector(t, c.Driver(), fast)
		for n := range 3 {
			do(t, c.Driver(), "HSET", p+strconv.Itoa(n), java(n, 1), "1")
			do(t, c.Driver(), "RPUSH", "redisson_lock_queue:{"+p+"q"+strconv.Itoa(n)+"}", java(n, 1))
		}
		for pattern, want := range map[string]int{p + "*": 6, p + "?": 3, p + "q[12]": 2, p + "1": 1, p + "q1": 1, p + "none": 0, p + "q*": 3} {
			if n := len(walked(t, i, pattern)); n != want {
				t.Errorf("%s: %d, want %d", pattern, n, want)
			}
		}
	})
}

// Goal: a lock "{x}" with a queue is not also a lock "x", which would have the same queue. Java makes such locks.
func TestALockInBracesIsOneLock(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		name := "{" + p + "x}"
		do(t, c.Driver(), "HSET", name, java(2, 2), "1")
		do(t, c.Driver(), "RPUSH", "redisson_lock_queue:"+name, java(1, 1))
		do(t, c.Driver(), "ZADD", "redisson_lock_timeout:"+name, "99999999999999", java(1, 1))
		if all := walked(t, inspector(t, c.Driver(), fast), "*"+p+"*"); len(all) != 1 || all[name].Queued != 1 {
			t.Errorf("%+v", all)
		}
	})
}

// Goal: a walk reads those hashes alone by script that may be locks. Method: ten locks among data, and the server
// counts.
func TestAWalkReadsFewHashesWhole(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	d := connectTo(t, s)
	const data, locks = 3000, 10
	for n := range data {
		do(t, d, "HSET", fmt.Sprintf("user:%d", n), "name", "x", "visits", "1")
	}
	for n := range locks {
		do(t, d, "HSET", fmt.Sprintf("lock:%d", n), java(1, n), "1")
	}
	do(t, d, "HSET", "rw", "mode", "read", java(1, 1), "1")
	do(t, d, "HSET", "writes", "mode", "write", java(1, 1)+":write", "1")
	s.CLI(t, "CONFIG", "RESETSTAT")
	began := time.Now()
	if all := walked(t, inspector(t, d, inspect.Config{Rate: 1000}), ""); len(all) != locks+2 {
		t.Errorf("found %d locks", len(all))
	}
	calls, _ := commandsOf(s.CLI(t, "INFO", "commandstats").(string))
	if calls > 10*locks {
		t.Errorf("it took %d commands beside one field of each hash, and %v", calls, time.Since(began))
	}
}
