package single_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// dedicated sends one command that has to succeed.
func dedicated(t testing.TB, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.DedicatedPipeline(context.Background(), command(words...))[0]
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}

// connections counts the clients of a server, besides the one that asks.
func connections(t testing.TB, server *redistest.Server) int {
	t.Helper()
	return strings.Count(server.CLI(t, "CLIENT", "LIST").(string), "id=") - 1
}

// TestLongDedicatedPipelinesTakeTheirTime: longer than the command timeout, and than the time
// after which an idle connection is closed.
func TestLongDedicatedPipelinesTakeTheirTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, single.Options{Address: server.Addr(), CommandTimeout: time.Second})
	for _, first := range []string{"GET", "INCR"} {
		begin := time.Now()
		replies := d.DedicatedPipeline(context.Background(), command(first, "key"), command("WAIT", "1", "4000"))
		if replies[0].Err != nil || replies[1].Err != nil {
			t.Errorf("replies %+v", replies)
		}
		if took := time.Since(begin); first == "INCR" && took < 3900*time.Millisecond {
			t.Errorf("no replica confirmed anything, and yet the wait was over after %v", took)
		}
	}
}

// TestLongDedicatedConnectionsAreFew: they are used again, there are 8 at most, and none is left
// when nobody has needed them for a while.
func TestLongDedicatedConnectionsAreFew(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, single.Options{Address: server.Addr()})
	id := dedicated(t, d, "CLIENT", "ID").Int
	if again := dedicated(t, d, "CLIENT", "ID").Int; again != id {
		t.Errorf("the connection is client %d, it was client %d", again, id)
	}
	var callers sync.WaitGroup
	for range single.MaxDedicated {
		callers.Go(func() { dedicated(t, d, "BLPOP", "list", "0") })
	}
	redistest.Eventually(t, soon, func() bool { return connections(t, server) == 1+single.MaxDedicated }, "all connections are in use")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := d.DedicatedPipeline(ctx, command("PING"))[0].Err
	wantNotSent(t, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	patient := make(chan driver.Reply)
	go func() { patient <- d.DedicatedPipeline(context.Background(), command("PING"))[0] }()
	for range single.MaxDedicated {
		do(t, d, "LPUSH", "list", "x")
	}
	if reply := drivercheck.Within(t, patient, "a caller who waited for a connection"); reply.Str != "PONG" {
		t.Errorf("reply %+v", reply)
	}
	callers.Wait()
	redistest.Eventually(t, soon, func() bool { return connections(t, server) == 1 }, "only the connection for commands is left")
}

// TestDedicatedConnectionLastsAWhile by the bubble's exact clock.
func TestDedicatedConnectionLastsAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, time.Second)
		for _, c := range []struct {
			idle  time.Duration
			dials int64
		}{{0, 2}, {4900 * time.Millisecond, 2}, {4900 * time.Millisecond, 2}, {5100 * time.Millisecond, 3}} {
			time.Sleep(c.idle)
			dedicated(t, d, "PING")
			if got := n.dials.Load(); got != c.dials {
				t.Errorf("after %v: %d connections made so far, want %d", c.idle, got, c.dials)
			}
		}
	})
}

// TestBrokenDedicatedConnectionIsNotUsedAgain, whether it broke while it was idle or by a
// call that ended early.
func TestBrokenDedicatedConnectionIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, n := openInBubble(t, time.Second)
		for range 3 {
			dedicated(t, d, "PING")
			n.fail(nil)
			synctest.Wait()
			dedicated(t, d, "PING")

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			err := d.DedicatedPipeline(ctx, command("BLPOP", "list", "0"))[0].Err
			wantUnknown(t, err)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want the context's", err)
			}
			wantBetween(t, begin, time.Minute, time.Minute, "a call with a deadline")
			dedicated(t, d, "PING")
		}
	})
}

func TestRefusedDedicatedConnectionsAreNotSent(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, single.Options{Address: proxy.Addr()})
	proxy.Refuse(t, true)
	err := d.DedicatedPipeline(t.Context(), command("PING"))[0].Err
	wantNotSent(t, err)
	if !errors.Is(err, driver.ErrNoConnection) || !errors.Is(err, errRefused) {
		t.Errorf("error %v, want ErrNoConnection and the reason", err)
	}
	proxy.Refuse(t, false)
	proxy.Blackhole(true)
	begin := time.Now()
	silent := open(t, single.Options{Address: redistest.Shared(t).Addr(), CommandTimeout: time.Second, Dial: dialInstead(proxy.Addr())})
	err = silent.DedicatedPipeline(context.Background(), command("PING"))[0].Err
	wantNotSent(t, err)
	wantNoContextError(t, err)
	wantTook(t, begin, time.Second, "a connection to a silent server")
	proxy.Blackhole(false)
}

func TestLostReplyOfADedicatedPipelineLeavesTheOutcomeOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy, key := redistest.NewProxy(t, server.Addr()), redistest.Name(t)
	d := open(t, single.Options{Address: proxy.Addr()})
	dedicated(t, d, "PING")
	proxy.DropReplies(1, redistest.Containing(key))
	err := d.DedicatedPipeline(context.Background(), command("INCR", key))[0].Err
	wantUnknown(t, err)
	wantNoContextError(t, err)
	if got := server.CLI(t, "GET", key); got != "1" {
		t.Errorf("the key is %v, want 1", got)
	}
	if got := dedicated(t, d, "INCR", key).Int; got != 2 {
		t.Errorf("the key is %d, want 2", got)
	}
}
