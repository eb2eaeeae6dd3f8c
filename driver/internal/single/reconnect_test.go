package single_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// verbs are the two ways to send a command.
var verbs = []struct {
	name string
	call func(driver.Driver, context.Context, driver.Command) error
}{
	{"Do", func(d driver.Driver, ctx context.Context, c driver.Command) error { return d.Do(ctx, c).Err }},
	{"Pipeline", func(d driver.Driver, ctx context.Context, c driver.Command) error {
		replies := d.Pipeline(ctx, c, c)
		return errors.Join(replies[0].Err, replies[1].Err)
	}},
}

// shareConnection makes rueidis read on a goroutine of its own, as it does
// from the first call on whose context can end.
func shareConnection(t *testing.T, d driver.Driver) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if reply := d.Do(ctx, command("PING")); reply.Err != nil {
		t.Fatal(reply.Err)
	}
}

// TestEndOfAContextSparesTheConnection also for deadlines, at which rueidis by
// itself would hang up.
func TestEndOfAContextSparesTheConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, single.Options{Address: server.Addr()})
	id := do(t, d, "CLIENT", "ID").Int
	for _, verb := range verbs {
		server.Freeze()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // in which it is sent
		defer cancel()
		begin := time.Now()
		err := verb.call(d, ctx, command("PING"))
		wantTook(t, begin, time.Second, verb.name)
		wantUnknown(t, err)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want the context's", verb.name, err)
		}
		server.Thaw()
		if got := do(t, d, "CLIENT", "ID").Int; got != id {
			t.Errorf("%s: the connection is client %d, it was client %d", verb.name, got, id)
		}
	}
}

// TestFullQueueLeavesContextsTheirSay freezes the server under more callers
// than rueidis' queue has places. When they have given up and the server goes
// on, their places are free again.
func TestFullQueueLeavesContextsTheirSay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, single.Options{Address: server.Addr(), CommandTimeout: 20 * time.Second})
	server.Freeze()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	for i := range 3 * single.Places {
		callers.Go(func() {
			if err := verbs[i%2].call(d, ctx, command("PING")); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want the context's", err)
			}
		})
	}
	redistest.Eventually(t, soon, func() bool { return single.Queued(d) == single.Places }, "the queue is full")
	begin := time.Now()
	late, cancelLate := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancelLate()
	wantNotSent(t, d.Do(late, command("PING")).Err)
	wantTook(t, begin, 20*time.Millisecond, "a caller who found the queue full")

	begin = time.Now()
	cancel()
	callers.Wait()
	wantTook(t, begin, 10*time.Second, "the return of all callers")
	if n := single.Queued(d); n != single.Places {
		t.Errorf("%d places are taken while the server has answered none of %d commands", n, single.Places)
	}
	server.Thaw()
	do(t, d, "PING")
	redistest.Eventually(t, soon, func() bool { return single.Queued(d) == 0 }, "the queue is empty")
}

func TestServerThatComesBackIsFound(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, single.Options{Address: server.Addr()})
	do(t, d, "SET", "key", "value")
	for range 2 {
		server.Restart(t)
		eventuallyWorks(t, d)
	}
	if got := do(t, d, "GET", "key"); !got.IsNil {
		t.Errorf("not the restarted server: %+v", got)
	}
}

// TestLoadingServerIsWaitedFor restarts a server with data that takes it about
// three seconds to load. It accepts connections meanwhile, and refuses commands.
func TestLoadingServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--key-load-delay", "6000", "--loading-process-events-interval-bytes", "1024")
	server.CLI(t, "EVAL", "for i = 1, 500 do redis.call('set', 'key' .. i, string.rep('x', 200)) end", "0")
	server.CLI(t, "SAVE")
	d := open(t, single.Options{Address: server.Addr(), CommandTimeout: soon})
	server.Restart(t)

	late, err := single.Open(t.Context(), single.Options{Address: server.Addr()})
	if refused, ok := errors.AsType[*driver.ServerError](err); !ok || refused.Code() != "LOADING" {
		t.Errorf("error %v, want LOADING", err)
		if err == nil {
			late.Close()
		}
	}
	d.Do(t.Context(), command("PING")) // may fail on the old connection
	if got := do(t, d, "DBSIZE").Int; got != 500 {
		t.Errorf("%d keys, want 500", got)
	}
	if list := do(t, d, "CLIENT", "LIST").Str; strings.Count(list, "id=") != 1 {
		t.Errorf("attempts to connect were left behind:\n%s", list)
	}
}

// TestCallsWaitForTheServer: a call made during an outage succeeds if the
// outage ends in time.
func TestCallsWaitForTheServer(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, single.Options{Address: proxy.Addr(), CommandTimeout: soon})
	loseConnection(t, d, proxy)
	replies := make(chan driver.Reply)
	go func() { replies <- d.Do(t.Context(), command("PING")) }()
	go func() { replies <- d.Pipeline(t.Context(), command("PING"))[0] }()
	select {
	case reply := <-replies:
		t.Fatalf("%+v without a server", reply)
	case <-time.After(50 * time.Millisecond):
	}
	proxy.Refuse(t, false)
	for range 2 {
		if reply := <-replies; reply.Str != "PONG" {
			t.Errorf("reply %+v", reply)
		}
	}
}

// loseConnection cuts the connection, refuses new ones, and has the driver notice.
func loseConnection(t *testing.T, d driver.Driver, proxy *redistest.Proxy) {
	t.Helper()
	proxy.Refuse(t, true)
	proxy.Cut()
	awaitLoss(t, d)
}

// awaitLoss waits until the driver knows that it has no connection.
func awaitLoss(t *testing.T, d driver.Driver) {
	t.Helper()
	redistest.Eventually(t, soon, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return errors.Is(d.Do(ctx, command("PING")).Err, driver.ErrNoConnection)
	}, "the driver knows that it has no connection")
}

func TestRefusedConnectionsAreNotSent(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, single.Options{Address: proxy.Addr(), CommandTimeout: timeout})
	loseConnection(t, d, proxy)
	for _, verb := range verbs {
		begin := time.Now()
		err := verb.call(d, context.Background(), command("PING"))
		wantNotSent(t, err)
		wantNoContextError(t, err)
		wantTook(t, begin, timeout, verb.name)
		if !errors.Is(err, errRefused) {
			t.Errorf("error %v does not say why there is no connection", err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		begin = time.Now()
		err = verb.call(d, ctx, command("PING"))
		wantNotSent(t, err)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
		wantTook(t, begin, 20*time.Millisecond, verb.name+" with a context")
	}
}

func TestLostReplyLeavesTheOutcomeOpen(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	for _, shared := range []bool{false, true} {
		for _, c := range []struct {
			name string
			lose func(int, func([]byte) bool)
			want any
		}{
			{"the reply", proxy.DropReplies, "1"},
			{"the request", proxy.DropRequests, nil},
		} {
			key := redistest.Name(t)
			d := open(t, single.Options{Address: proxy.Addr()})
			if shared {
				shareConnection(t, d)
			}
			c.lose(1, redistest.Containing(key))
			err := d.Do(context.Background(), command("INCR", key)).Err
			wantUnknown(t, err)
			wantNoContextError(t, err)
			if got := server.CLI(t, "GET", key); got != c.want {
				t.Errorf("%s was lost: the key is %v, want %v", c.name, got, c.want)
			}
			do(t, d, "PING")
		}
	}
}

// TestLostReplyInAPipelineSparesTheOnesBeforeIt uses a shared connection, on
// which rueidis reports each reply by itself.
func TestLostReplyInAPipelineSparesTheOnesBeforeIt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	d := open(t, single.Options{Address: proxy.Addr()})
	shareConnection(t, d)
	key := redistest.Name(t)
	proxy.DropReplies(1, redistest.Containing("DECR"))
	replies := d.Pipeline(t.Context(), command("INCR", key), command("DECR", key), command("INCR", key))
	if replies[0].Int != 1 {
		t.Errorf("first reply %+v, want 1", replies[0])
	}
	wantUnknown(t, replies[1].Err)
	wantUnknown(t, replies[2].Err)
	if got := server.CLI(t, "GET", key); got != "0" {
		t.Errorf("the key is %v, want 0: the first two commands carried out", got)
	}
}

// TestErrorsAreRightWhenConnectionsBreak cuts connections under many callers. Each
// increments keys of its own, once: what succeeded is there, what was not sent
// is not, and nothing is there twice.
func TestErrorsAreRightWhenConnectionsBreak(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	d := open(t, single.Options{Address: proxy.Addr(), CommandTimeout: breakTimeout})
	name := redistest.Name(t)

	var outcomes [40][]error // of each caller's commands, in order
	key := func(caller, command int) string { return fmt.Sprint(name, "-", caller, "-", command) }
	var stop, succeeded atomic.Bool
	var callers sync.WaitGroup
	for caller := range outcomes {
		callers.Go(func() {
			for i := 0; !stop.Load(); i++ {
				err := d.Do(context.Background(), command("INCR", key(caller, i))).Err
				outcomes[caller] = append(outcomes[caller], err)
				if err == nil {
					succeeded.Store(true)
				}
			}
		})
	}
	redistest.Eventually(t, 10*time.Second, succeeded.Load, "a command succeeds before the disturbance")
	disturb(t, proxy)
	stop.Store(true)
	callers.Wait()

	counted := map[string]int{}
	for caller, errs := range outcomes {
		words := []string{"MGET"}
		for i := range errs {
			words = append(words, key(caller, i))
		}
		counts := server.CLI(t, words...).([]any)
		for i, err := range errs {
			counted[outcomeOf(t, err, counts[i])]++
		}
	}
	if counted["succeeded"] == 0 || counted["not sent"] == 0 || counted["unknown"] == 0 {
		t.Errorf("some outcome never occurred, so the test shows nothing: %v", counted)
	}
}

// breakTimeout is the command timeout of TestErrorsAreRightWhenConnectionsBreak.
const breakTimeout = 300 * time.Millisecond

// disturb cuts the connections again and again, then refuses new ones for longer
// than the command timeout; and all that three times.
func disturb(t *testing.T, proxy *redistest.Proxy) {
	t.Helper()
	for range 3 {
		for range 20 {
			time.Sleep(5 * time.Millisecond)
			proxy.Cut()
		}
		proxy.Refuse(t, true)
		proxy.Cut()
		time.Sleep(2 * breakTimeout)
		proxy.Refuse(t, false)
	}
}

// outcomeOf compares an INCR's error with how often it was carried out.
func outcomeOf(t *testing.T, err error, count any) (outcome string) {
	t.Helper()
	wantNoContextError(t, err)
	switch {
	case err == nil:
		if count != "1" {
			t.Errorf("a success was carried out %v times", count)
		}
		return "succeeded"
	case errors.Is(err, driver.ErrNotSent):
		if count != nil {
			t.Errorf("carried out %v times, although %v", count, err)
		}
		return "not sent"
	}
	if count != nil && count != "1" {
		t.Errorf("carried out %v times after %v", count, err)
	}
	return "unknown"
}

// TestCloseEndsAnOutage: neither a caller who waits for a connection nor the
// goroutine that makes one keeps Close waiting.
func TestCloseEndsAnOutage(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	for _, silent := range []bool{false, true} {
		d := open(t, single.Options{Address: proxy.Addr(), CommandTimeout: 30 * time.Second})
		proxy.Blackhole(silent)
		proxy.Refuse(t, !silent)
		proxy.Cut()
		failed := make(chan error)
		awaitLoss(t, d)
		go func() { failed <- d.Do(context.Background(), command("PING")).Err }()
		begin := time.Now()
		d.Close()
		err := <-failed
		wantNotSent(t, err)
		wantNoContextError(t, err)
		wantTook(t, begin, 0, "Close")
		proxy.Blackhole(false)
		proxy.Refuse(t, false)
	}
}
