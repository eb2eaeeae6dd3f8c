package inspect_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: other people's large keys cost little: neither many bytes, nor a long command. Method: data of
// some megabytes lie under names that look like those of locks; the replies are measured, and so are
// the commands by the server's own log.
func TestLongLargeKeysAreNotReadWhole(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s.URL(), redlatch.Config{})
	d := c.Driver()
	large := strings.Repeat("x", 5<<20)
	for first := range 300 {
		words := []string{"HSET", "fields"}
		readers := []string{"HSET", "readers"}
		list := []string{"RPUSH", "redisson_lock_queue:{queue}"}
		for n := range 1000 {
			words = append(words, "field"+strconv.Itoa(1000*first+n), "1")
			readers = append(readers, java(first, n), "1")
			list = append(list, java(first, n))
		}
		do(t, d, words...)
		do(t, d, list...)
		if first < 100 {
			do(t, d, readers...)
		}
	}
	do(t, d, "HSET", "readers", "mode", "read")
	for n := range 10 {
		do(t, d, "HSET", "counts", java(3, n), "1")
		do(t, d, "HSET", protocol.NoteKey("counts", java(3, n)), "note", large[:1<<20], "recall", large[:1<<20])
	}
	do(t, d, "HSET", "value", java(1, 1), large)
	do(t, d, "HSET", "field", large, "1")
	do(t, d, "HSET", "mode", "mode", large, java(1, 1), "1")
	do(t, d, "HSET", "counts", "mode", "read", java(1, 1), "65536", java(2, 2), "65536")
	do(t, d, "RPUSH", "redisson_lock_queue:{elements}", large)
	do(t, d, "HSET", "redlatch:session:{00000001-0000-4000-8000-000000000000}", java(1, 1)+" counts", large, "pulse", large)
	do(t, d, "ZADD", "redlatch:sessions", "1", "00000001-0000-4000-8000-000000000000")
	processor := func() time.Duration { return redistest.MainThread(t, s.CLI(t, "INFO", "cpu").(string)) }
	before := processor()

	counting := &counter{Driver: d}
	all := walked(t, inspector(t, counting, fast), "*")
	for name, want := range map[string]string{"readers": "no-ttl", "counts": "no-ttl", "queue": "queue-mismatch", "elements": "queue-mismatch"} {
		if l, ok := all[name]; !ok || codes(l) != want || len(l.Holders) > 5000 || len(l.Queue) > 1000 {
			t.Errorf("%s: found %v, %s, %d holders of %d, %d in the queue", name, ok, codes(l), len(l.Holders), l.Owners, len(l.Queue))
		}
	}
	if l := all["readers"]; l.Owners != 100_000 || all["queue"].Queued != 300_000 {
		t.Errorf("%d readers, %d in the queue", l.Owners, all["queue"].Queued)
	}
	if len(all) != 4 {
		t.Errorf("found %d", len(all))
	}
	if n := counting.bytes.Load(); n > 2<<20 {
		t.Errorf("%d bytes were read", n)
	}
	if took := processor() - before; took > 50*time.Millisecond {
		t.Errorf("it took Redis %v", took)
	}
}

// counter counts the bytes of replies.
type counter struct {
	driver.Driver
	bytes atomic.Int64
}

func (c *counter) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := c.Driver.Pipeline(ctx, commands...)
	for _, r := range replies {
		c.bytes.Add(size(r))
	}
	return replies
}

func size(r driver.Reply) int64 {
	n := int64(len(r.Str) + 8)
	for _, one := range r.Array {
		n += size(one)
	}
	return n
}

// Goal: a key that changes between two commands is no error, and makes no finding. Method: locks and
// data come and go under the same names while they are read.
func TestKeysComeAndGo(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		i := inspector(t, c.Driver(), fast)
		var busy atomic.Int64
		rounds, began := 0, time.Now()
		churn := make(chan struct{})
		go func() {
			defer close(churn)
			for n := 0; ctx.Err() == nil; n++ {
				name := p + strconv.Itoa(n%5)
				if hold, err := c.RWMutex(name).RLock(ctx); err == nil {
					busy.Add(1)
					_ = hold.Unlock(t.Context())
				}
				c.Driver().Do(ctx, driver.Command{Words: []string{"SET", name, "text"}, Key: name})
				c.Driver().Do(ctx, driver.Command{Words: []string{"DEL", name}, Key: name})
				if hold, err := c.FairMutex(name).Lock(ctx); err == nil {
					_ = hold.Unlock(t.Context())
				}
			}
		}()
		redistest.Eventually(t, 20*time.Second, func() bool {
			for l, err := range i.Audit(ctx, p+"*") {
				t.Errorf("%+v, %v", l, err)
			}
			rounds++
			return busy.Load() >= 3 && rounds >= 3 && time.Since(began) > 2*time.Second
		}, "three holds and three rounds")
		cancel()
		<-churn
	})
}

// Goal: timeout keys without their reader are found by an audit, and those of a reader that holds the
// lock are not.
func TestOrphanedTimeoutKeys(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		for _, name := range []string{p + "held", "{" + p + "tagged}"} {
			redistest.Must(c.RWMutex(name).RLock(t.Context()))
		}
		for _, key := range []string{
			"{" + p + "gone}:" + java(1, 1) + ":rwlock_timeout:1", "{" + p + "gone}:" + java(1, 1) + ":rwlock_timeout:2",
			"{" + p + "held}:" + java(1, 1) + ":rwlock_timeout:1",
			p + "{tag}:" + java(1, 1)[:37] + java(2, 1)[:36] + ":rwlock_timeout:1",
			"{" + p + "odd}:owner:rwlock_timeout:1", "{other" + p + "}:" + java(1, 1) + ":rwlock_timeout:1", p + ":rwlock_timeout:",
		} {
			do(t, c.Driver(), "SET", key, "1")
		}
		got := make(map[string]string)
		for l, err := range inspector(t, c.Driver(), fast).Audit(t.Context(), p+"*") {
			if err != nil {
				t.Fatal(err)
			}
			got[l.Name] += codes(l) + "|" + l.Findings[0].Text[:1]
		}
		want := "orphaned-timeout|"
		if len(got) != 3 || got[p+"gone"] != want+"2" || got[p+"held"] != want+"1" || got[p+"{tag}"] != want+"1" {
			t.Errorf("%v", got)
		}
	})
}

// Goal: the command in a finding ends the text, so that it can be pasted as it is, and carries out nothing of
// the names.
func TestTheCommandOfAFindingCanBePasted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	d := connectTo(t, s)
	i := inspector(t, d, fast)
	for _, name := range []string{"$(reboot)", "-rf", "a b", "orders:7"} {
		do(t, d, "HSET", name, java(1, 1), "1")
		l, err := i.Lock(t.Context(), name)
		if err != nil || len(l.Findings) != 1 || !strings.HasSuffix(l.Findings[0].Text, ": "+protocol.UnlockCommand(java(1, 1), name)) {
			t.Errorf("%q: %v, %v", name, l.Findings, err)
		}
	}
}
