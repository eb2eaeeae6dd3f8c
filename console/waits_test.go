package console

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect/blocked"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the page knows the waits that a protected client reports, each once, also behind several
// holders. Method: a writer waits behind two readers until its client's heartbeat has reported it.
func TestReportedWaitsHaveEachWaiterOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client, err := redlatch.Open(ctx, server.URL(), redlatch.Config{Protect: true, LeaseTime: 4 * time.Second, Name: "writer"})
	if err != nil {
		t.Fatal(err)
	}
	lock := client.RWMutex("catalog")
	for range 2 {
		must1(lock.RLock(ctx))
	}
	under, err := client.Mutex("outer").Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiting, stop := context.WithCancel(under.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		_, _ = lock.Lock(waiting) // nobody lets it in
	})
	t.Cleanup(func() {
		stop()
		ended.Wait()
		_ = client.Close(context.WithoutCancel(ctx))
	})

	read := ReportedWaits(client.Driver())
	var waits []Wait
	redistest.Eventually(t, 15*time.Second, func() bool {
		waits, err = read(ctx)
		return err != nil || len(waits) > 0
	}, "the wait is reported")
	if err != nil || len(waits) != 1 || waits[0].Lock != "catalog" || waits[0].Name != "writer" || !slices.Equal(waits[0].Under, []string{under.Owner()}) {
		t.Errorf("got %+v, %v", waits, err)
	}
}

// Goal: the page calls a deadlock certain only if its waits went on at one moment.
func TestWaitsOfACertainCycleSaySo(t *testing.T) {
	t.Parallel()
	edge := func(waiter, lock, holder, under string, since, confirmed int64) blocked.Edge {
		return blocked.Edge{Waiter: blocked.Party{Owner: waiter, Client: waiter[:1]}, Lock: lock, Holder: blocked.Party{Owner: holder, Client: holder[:1]},
			Under: []string{under}, Since: time.UnixMilli(since), Confirmed: time.UnixMilli(confirmed), Told: true}
	}
	for _, c := range []struct {
		second int64 // when the second wait began
		want   bool
	}{{15, true}, {25, false}} {
		for _, w := range waitsOf(blocked.Graph{Edges: []blocked.Edge{
			edge("a2", "x", "b1", "a1", 10, 20), edge("b2", "y", "a1", "b1", c.second, 30), edge("c1", "x", "b1", "c2", 10, 20),
		}}) {
			if want := c.want && w.Owner != "c1"; w.Certain != want {
				t.Errorf("the second wait began at %d: the wait of %s is part of a certain cycle: %v", c.second, w.Owner, w.Certain)
			}
		}
	}
}

// Goal: a user who may not read what clients report sees the page all the same.
func TestWaitsThatMayNotBeReadAreNone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "-@all", "+ping", "+hello", "+client|setname")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	client := must1(redlatch.Open(ctx, "redis://blind:secret@"+server.Addr(), redlatch.Config{}))
	t.Cleanup(func() { _ = client.Close(context.WithoutCancel(ctx)) })
	if waits, err := ReportedWaits(client.Driver())(ctx); len(waits) != 0 || err != nil {
		t.Errorf("got %v, %v", waits, err)
	}
}

// Goal: the waits of very many clients are no burst of commands. Method: two commands for each of 1,000 clients take
// two seconds.
func TestWaitsAreReadAtARate(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, err := redlatch.Open(t.Context(), server.URL(), redlatch.Config{})
	must(t, client, err)
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	server.CLI(t, "EVAL", "for i = 1, 1000 do redis.call('ZADD', 'redlatch:sessions', 9e15, string.format('%08d-0000-4000-8000-000000000000', i)) end", "0")
	began := time.Now()
	must1(ReportedWaits(client.Driver())(t.Context()))
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("the waits of 1000 clients took %v", took)
	}
}

// Goal: a function of a user that panics, or ends its goroutine, is an error, and is called again.
func TestAReadingAsideMayPanic(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panicked: ouch": func() { panic("ouch") }, "ended": runtime.Goexit} {
		called := 0
		a := aside[Wait]{start: func(f func()) { go f() }, read: func(context.Context) ([]Wait, error) {
			if called++; called == 1 {
				fail()
			}
			return []Wait{{}}, nil
		}}
		if err := a.again(t.Context(), t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v, want one that says %q", err, name)
		}
		a.next = time.Now()
		if err := a.again(t.Context(), t.Context()); err != nil || len(a.all) != 1 {
			t.Errorf("the next reading: %v, %v", a.all, err)
		}
	}
}
