package inspect_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
)

// permitsOf makes a semaphore with n permits.
func permitsOf(t *testing.T, c *redlatch.Client, name string, n int) *redlatch.PermitSemaphore {
	t.Helper()
	s := c.PermitSemaphore(name)
	if made, err := s.TrySetPermits(t.Context(), n); err != nil || !made {
		t.Fatal(made, err)
	}
	return s
}

func counterAt(t *testing.T, i *inspect.Inspector, name string) inspect.Counter {
	t.Helper()
	c, err := i.Counter(t.Context(), name)
	return must(t, c, err)
}

// walkedPermits are all semaphores that match, by their names. Each may come once.
func walkedPermits(t *testing.T, i *inspect.Inspector, pattern string) map[string]inspect.Counter {
	t.Helper()
	return byName(t, i.Permits(t.Context(), pattern), func(c inspect.Counter) string { return c.Name })
}

// Goal: a semaphore with leased permits is described as its clients know it, by its name and by a walk.
func TestAPermitSemaphoreIsDescribed(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		i := inspector(t, c.Driver(), fast)
		s := permitsOf(t, c, p+"jobs", 2)
		if got := counterAt(t, i, p+"jobs"); got.Kind != inspect.KindCounter || got.Available != 2 || got.TTL != -1 || len(walkedPermits(t, i, p+"*")) != 0 {
			t.Errorf("before the first permit: %+v", got)
		}
		short, err := s.Acquire(t.Context(), redlatch.WithLease(time.Minute))
		must(t, short, err)
		long, err := s.Acquire(t.Context(), redlatch.WithLease(time.Hour))
		must(t, long, err)
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() { _, err := s.Acquire(ctx); waited <- err }()
		defer func() { cancel(); <-waited }()
		eventually(t, func() bool { return counterAt(t, i, p+"jobs").Waiting == 1 }, "one waits")

		for how, got := range map[string]inspect.Counter{"by its name": counterAt(t, i, p+"jobs"), "by a walk": walkedPermits(t, i, p+"*")[p+"jobs"]} {
			if got.Kind != inspect.KindPermits || got.Available != 0 || got.InUse != 2 || got.Size() != 2 || got.Waiting != 1 || len(got.Findings) > 0 || len(got.Permits) != 2 {
				t.Fatalf("%s: %+v", how, got)
			}
			first, second := got.Permits[0], got.Permits[1]
			if first.ID != short.Owner() || second.ID != long.Owner() || first.TTL <= 0 || first.TTL > time.Minute+time.Second || second.TTL < 50*time.Minute {
				t.Errorf("%s: %+v", how, got.Permits)
			}
		}
		if err := s.AddPermits(t.Context(), -1); err != nil {
			t.Error(err)
		}
		if got := counterAt(t, i, p+"jobs"); got.Available != -1 || got.Size() != 1 {
			t.Errorf("after a permit was taken away: %+v", got)
		}
		if all := walked(t, i, p+"*"); len(all) != 0 {
			t.Errorf("the locks are %v", all)
		}
	})
}

// Goal: a semaphore and a latch are numbers, an open latch is nothing, and data is data.
func TestCountersAreNumbers(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		i := inspector(t, c.Driver(), fast)
		made, err := c.Semaphore(p+"semaphore").TrySetPermits(t.Context(), 5)
		must(t, made, err)
		made, err = c.Latch(p+"latch").TrySetCount(t.Context(), 3)
		must(t, made, err)
		do(t, c.Driver(), "SET", p+"brief", "7", "PX", "60000")
		do(t, c.Driver(), "SET", p+"text", "some text")
		hold, err := c.Mutex(p + "lock").Lock(t.Context())
		must(t, hold, err)
		do(t, c.Driver(), "SET", p+"beside", "7")
		do(t, c.Driver(), "ZADD", "{"+p+"beside}:timeout", "1", "somebody's data")
		for name, want := range map[string]string{"semaphore": "counter 5 endless", "latch": "counter 3 endless", "brief": "counter 7", "none": " 0", "beside": "counter 7 endless"} {
			got := counterAt(t, i, p+name)
			text := fmt.Sprint(got.Kind, " ", got.Available)
			if got.TTL < 0 {
				text += " endless"
			}
			if text != want || got.TTL > time.Minute || (got.TTL > 0) != (name == "brief") {
				t.Errorf("%s: %q, %+v", name, text, got)
			}
		}
		for _, name := range []string{"text", "lock"} {
			if got, err := i.Counter(t.Context(), p+name); !errors.Is(err, redlatch.ErrWrongType) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		if _, err := i.Counter(t.Context(), ""); !errors.Is(err, redlatch.ErrInvalidName) {
			t.Errorf("no name: %v", err)
		}
		if all := walkedPermits(t, i, p+"*"); len(all) > 0 {
			t.Errorf("a walk found %v", all)
		}
		if all := walkedPermits(t, i, p+"latch"); len(all) != 1 {
			t.Errorf("by its name: %v", all)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() { waited <- c.Latch(p + "latch").Wait(ctx) }()
		defer func() { cancel(); <-waited }()
		eventually(t, func() bool { return counterAt(t, i, p+"latch").Waiting == 1 }, "one waits for the latch")
	})
}

// Goal: somebody who takes a semaphore for a lock is told what it is.
func TestASemaphoreIsNoLock(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		permitsOf(t, c, p+"jobs", 2)
		l, err := inspector(t, c.Driver(), fast).Lock(t.Context(), p+"jobs")
		if !errors.Is(err, redlatch.ErrWrongType) || codes(l) != inspect.CodeWrongType || !strings.Contains(l.Findings[0].Text, "semaphore or a latch") {
			t.Errorf("%+v, %v", l, err)
		}
	})
}

// Goal: each thing that can be wrong with permits has its finding. Expired permits are none. Method: keys as
// Redisson writes them.
func TestFindingsAboutPermits(t *testing.T) {
	t.Parallel()
	id := func(n byte) string { return strings.Repeat(string('a'+rune(n)), 16) }
	later, never := "99999999999999", "922337203685477"
	for _, c := range []struct {
		name, want string
		make       [][]string
		check      func(c inspect.Counter) bool
	}{
		{"sound", "", [][]string{{"SET", "@", "1"}, {"ZADD", "{@}:timeout", later, id(0)}}, func(c inspect.Counter) bool { return c.Available == 1 && c.Size() == 2 }},
		{"expired", "", [][]string{{"SET", "@", "1"}, {"ZADD", "{@}:timeout", "1000", id(0), "2000", id(1), later, id(2)}},
			func(c inspect.Counter) bool {
				return c.Available == 3 && c.Expired == 2 && c.InUse == 1 && c.Size() == 4 && len(c.Permits) == 1
			}},
		{"endless", "endless-permit", [][]string{{"SET", "@", "1"}, {"ZADD", "{@}:timeout", never, id(0)}}, func(c inspect.Counter) bool { return c.Permits[0].TTL == -1 }},
		{"gone", "no-counter", [][]string{{"ZADD", "{@}:timeout", later, id(0)}}, func(c inspect.Counter) bool { return c.InUse == 1 && c.Available == 0 }},
		{"of old clients", "", [][]string{{"SET", "@", "1"}, {"ZADD", "{@}:timeout", later, hex.EncodeToString([]byte(id(0)))}},
			func(c inspect.Counter) bool { return c.Permits[0].ID == hex.EncodeToString([]byte(id(0))) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, client *redlatch.Client, p string) {
				for _, words := range c.make {
					do(t, client.Driver(), named(words, p+"x")...)
				}
				i := inspector(t, client.Driver(), fast)
				for how, got := range map[string]inspect.Counter{"name": counterAt(t, i, p+"x"), "walk": walkedPermits(t, i, p+"*")[p+"x"]} {
					var all []string
					for _, f := range got.Findings {
						all = append(all, f.Code)
					}
					if strings.Join(all, " ") != c.want || got.Kind != inspect.KindPermits || !c.check(got) {
						t.Errorf("by its %s: %+v", how, got)
					}
				}
			})
		})
	}
}

// Goal: a walk finds the semaphores that match, and tells "x" from "{x}", which Java makes.
func TestTheNamesOfSemaphores(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		i := inspector(t, c.Driver(), fast)
		braced := "{" + p + "braces}"
		do(t, c.Driver(), "SET", braced, "0")
		do(t, c.Driver(), "ZADD", braced+":timeout", "99999999999999", "0123456789abcdef")
		names := []string{p + "a", p + "b", p + "{tag}:x"}
		for _, name := range names {
			s := permitsOf(t, c, name, 1)
			hold, err := s.Acquire(t.Context())
			must(t, hold, err)
		}
		for pattern, want := range map[string]int{"*" + p + "*": 4, p + "?": 2, p + "[a]": 1, p + "a": 1, p + "none": 0, "{" + p + "b*": 1} {
			if all := walkedPermits(t, i, pattern); len(all) != want {
				t.Errorf("%s: %v, want %d", pattern, all, want)
			}
		}
		for _, name := range append(names, braced) {
			if got := walkedPermits(t, i, "*"+p+"*")[name]; got.InUse != 1 || got.Size() != 1 {
				t.Errorf("%q: %+v", name, got)
			}
		}
	})
}

// scanTwice is a driver whose SCAN names each key twice, as that of Redis may.
type scanTwice struct{ driver.Driver }

func (scanTwice) Embedded() {}

func (d scanTwice) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := d.Driver.Pipeline(ctx, commands...)
	if commands[0].Words[0] == "SCAN" {
		keys := &replies[0].Array[1]
		keys.Array = append(keys.Array, keys.Array...)
	}
	return replies
}

func TestAWalkYieldsASemaphoreOnce(t *testing.T) {
	t.Parallel()
	c := open(t, "memory://"+redistest.Name(t), redlatch.Config{})
	hold, err := permitsOf(t, c, "jobs", 1).Acquire(t.Context())
	must(t, hold, err)
	if all := walkedPermits(t, inspector(t, scanTwice{c.Driver()}, fast), "*"); len(all) != 1 {
		t.Errorf("found %v", all)
	}
}

// Goal: without +zcount a walk ends with an error that names a right. Without the number of listeners it is
// unknown, and nothing else.
func TestRightsForPermits(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s.URL(), redlatch.Config{})
	name := redistest.Name(t)
	hold, err := permitsOf(t, c, name, 2).Acquire(t.Context())
	must(t, hold, err)
	_, err = limited(t, s, "-zcount").Counter(t.Context(), name)
	if denied, is := errors.AsType[*inspect.RightError](err); !is || !strings.Contains(denied.Right, "+zcount") {
		t.Error(err)
	}
	if got := counterAt(t, limited(t, s, "-pubsub|numsub"), name); got.Waiting != -1 || got.InUse != 1 {
		t.Errorf("%+v", got)
	}
	i := limited(t, s, "resetkeys", "~none*")
	if all := walkedPermits(t, i, name+"*"); len(all) > 0 || !slices.Contains(i.Notices(), "Some keys were left out: this user may not read them") {
		t.Errorf("%v, %q", all, i.Notices())
	}
	if got := counterAt(t, limited(t, s, "-@write"), name); got.InUse != 1 {
		t.Errorf("without the right to write: %+v", got)
	}
}

// Goal: a semaphore in JSON has the fields that docs/inspect.md describes.
func TestASemaphoreInJSON(t *testing.T) {
	t.Parallel()
	c := inspect.Counter{Name: "jobs", Kind: inspect.KindPermits, Available: 1, InUse: 2, Expired: 1, Permits: []inspect.Permit{{ID: "ab", TTL: time.Second, Noted: inspect.Noted{Note: "x"}}, {ID: "cd", TTL: -1}}, TTL: -1, Waiting: 3}
	text, err := json.Marshal(c)
	want := `{"name":"jobs","kind":"permits","available":1,"in_use":2,"expired":1,"size":3,"permits":[{"id":"ab","ttl_ms":1000,"note":"x","recall":null},{"id":"cd","ttl_ms":-1,"note":"","recall":null}],"ttl_ms":-1,"waiting":3,"findings":[],"seen":"0001-01-01T00:00:00Z"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	text, err = json.Marshal(inspect.Counter{Name: "jobs", Kind: inspect.KindCounter, Available: 1})
	if err != nil || !strings.Contains(string(text), `"size":-1,"permits":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}
