package memory_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/drivertest"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestPassesTheSuite(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		// Its connections are pipes without a buffer: many callers at once take it long on a
		// busy machine.
		return open(t, memory.Options{Name: t.Name(), CommandTimeout: 20 * time.Second})
	})
}

func open(t *testing.T, options memory.Options) *memory.Driver {
	t.Helper()
	d := redistest.Must(memory.Open(t.Context(), options))
	t.Cleanup(d.Close)
	return d
}

func do(t *testing.T, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.Do(t.Context(), driver.Command{Words: words})
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}

func TestServersAreSharedByName(t *testing.T) {
	t.Parallel()
	name := t.Name()
	a, b, other, own, own2 := open(t, memory.Options{Name: name}), open(t, memory.Options{Name: name}), open(t, memory.Options{Name: name + "2"}), open(t, memory.Options{}), open(t, memory.Options{})
	do(t, a, "SET", "key", "value")
	if got := do(t, b, "GET", "key").Str; got != "value" {
		t.Errorf("the same name has another server: %q", got)
	}
	for _, d := range []*memory.Driver{other, own, own2} {
		if got := do(t, d, "GET", "key"); !got.IsNil {
			t.Errorf("another server has the key: %+v", got)
		}
	}
	do(t, own, "SET", "mine", "x")
	if got := do(t, own2, "GET", "mine"); !got.IsNil {
		t.Errorf("servers without a name are shared: %+v", got)
	}
}

func TestSharedServersEndWithTheirLastUser(t *testing.T) {
	t.Parallel()
	name := t.Name()
	a, b := open(t, memory.Options{Name: name}), open(t, memory.Options{Name: name})
	do(t, a, "SET", "key", "value")
	a.Close()
	a.Close() // once is enough
	if got := do(t, b, "GET", "key").Str; got != "value" {
		t.Errorf("the server ended with its first user: %q", got)
	}
	b.Close()
	if got := do(t, open(t, memory.Options{Name: name}), "GET", "key"); !got.IsNil {
		t.Errorf("the data outlived the last user: %+v", got)
	}
}

func TestOpenThatFailsGivesItsServerBack(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	name := t.Name()
	a := open(t, memory.Options{Name: name})
	do(t, a, "SET", "key", "value")
	if _, err := memory.Open(over, memory.Options{Name: name}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	a.Close()
	if got := do(t, open(t, memory.Options{Name: name}), "GET", "key"); !got.IsNil {
		t.Errorf("the server has a user still: %+v", got)
	}
}

// TestKeysExpireByTheBubblesClock: an hour takes no time.
func TestKeysExpireByTheBubblesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memory.Options{})
		do(t, d, "SET", "key", "value", "PX", "3600000")
		before := do(t, d, "TIME").Array[0].Str
		time.Sleep(time.Hour - 10*time.Millisecond)
		if got := do(t, d, "PTTL", "key").Int; got != 10 {
			t.Errorf("%d ms are left, want 10", got)
		}
		time.Sleep(10 * time.Millisecond)
		if got := do(t, d, "EXISTS", "key").Int; got != 0 {
			t.Error("the key is still there")
		}
		if after := do(t, d, "TIME").Array[0].Str; after == before {
			t.Error("the server's clock stands still")
		}
	})
}

func TestMessagesArriveInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memory.Options{})
		var mu sync.Mutex
		var got []string
		add := func(line string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, line)
		}
		listener := redistest.Must(d.Listen(t.Context(), driver.Events{
			Subscribed: func(channel string) { add("+" + channel) },
			Message:    func(channel, payload string) { add(channel + " " + payload) },
		}))
		defer listener.Close()
		if err := listener.Subscribe(t.Context(), "a", "b"); err != nil {
			t.Fatal(err)
		}
		do(t, d, "PUBLISH", "b", "1")
		time.Sleep(time.Minute) // silence is not mistaken for a broken connection
		do(t, d, "PUBLISH", "a", "2")
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"+a", "+b", "b 1", "a 2"}; !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	})
}

// TestCallsAreBoundedByTheBubblesClock: the server holds a reply back.
func TestCallsAreBoundedByTheBubblesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memory.Options{CommandTimeout: time.Minute})
		begin := time.Now()
		reply := d.Do(context.Background(), driver.Command{Words: []string{"BLPOP", "list", "0"}})
		if took := time.Since(begin); reply.Err == nil || took > time.Minute || took < 30*time.Second {
			t.Errorf("%+v after %v, want an error within the minute", reply, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		reply = d.Do(ctx, driver.Command{Words: []string{"BLPOP", "list", "0"}})
		if took := time.Since(begin); !errors.Is(reply.Err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("%+v after %v, want the context's error after 1s", reply, took)
		}
	})
}

// Goal: memory://name of redlatch.Open is this package's server. Method: what one way has written,
// the other reads; a reply that is held back ends with the timeout that was asked for.
func TestTheSchemeIsRegistered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registered := redistest.Must(driver.Registered("memory")(t.Context(), t.Name(), time.Minute))
		defer registered.Close()
		do(t, open(t, memory.Options{Name: t.Name()}), "SET", "key", "value")
		if got := do(t, registered, "GET", "key").Str; got != "value" {
			t.Errorf("the name leads to another server: %q", got)
		}
		begin := time.Now()
		reply := registered.Do(context.Background(), driver.Command{Words: []string{"BLPOP", "list", "0"}})
		if took := time.Since(begin); reply.Err == nil || took > time.Minute || took < 30*time.Second {
			t.Errorf("%+v after %v, want an error within the minute", reply, took)
		}
	})
}

func TestServeIsReachedByTCP(t *testing.T) {
	t.Parallel()
	server := redistest.Must(memory.Serve("127.0.0.1:0"))
	defer server.Close()
	a := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr()}))
	defer a.Close()
	b := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr()}))
	defer b.Close()
	do(t, a, "SET", "key", "value")
	if got := do(t, b, "GET", "key").Str; got != "value" {
		t.Errorf("got %q", got)
	}
	do(t, a, "PEXPIRE", "key", "20")
	for begin := time.Now(); !do(t, b, "GET", "key").IsNil; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 5*time.Second {
			t.Fatal("the key does not expire")
		}
	}
	if _, err := memory.Serve(server.Addr()); err == nil {
		t.Error("two servers share an address")
	}
	server.Close()
	server.Close()
}
