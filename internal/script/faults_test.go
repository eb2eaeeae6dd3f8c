package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// The runner on a real server that forgets, is busy, loses replies and starts anew.

func wantGranted(t *testing.T, result script.Result, err error, repeated bool) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got, err := script.ReadAcquired(result.Reply)
	if err != nil || !got.Granted || result.Repeated != repeated {
		t.Errorf("acquired as %+v, %v, repeated %v; want granted, repeated %v", got, err, result.Repeated, repeated)
	}
}

func TestAServerThatForgetsItsScriptsIsTaughtThemAgain(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	runner := script.NewRunner(s, 3*second)
	for i := range 10 {
		s.must(t, "SCRIPT", "FLUSH")
		key := fmt.Sprint("a", i)
		result, err := runner.Run(t.Context(), script.Mutex{Lock: key}.Acquire(me, script.Counts{Writes: 1}, lease, false))
		wantGranted(t, result, err, false)

		s.must(t, "SCRIPT", "FLUSH")
		results := redistest.Must(runner.RunAll(t.Context(), release(me, 0)(key), script.Mutex{Lock: key}.Acquire(other, script.Counts{Writes: 1}, lease, false)))
		released, err := script.ReadReleased(results[0].Reply)
		if err != nil || !released.Held || results[0].Repeated {
			t.Errorf("released as %+v, %v, repeated %v", released, err, results[0].Repeated)
		}
		wantGranted(t, results[1], nil, false)
		if got := s.state(t, key); !got.is(held(other, 1, lease)) {
			t.Errorf("it left %v", got)
		}
	}
}

// Half of a pipeline may be known: the order must hold all the same.
func TestAReleaseThatTheServerForgotStillComesBeforeTheRequestBehindIt(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	runner := script.NewRunner(s, 3*second)
	s.must(t, "SCRIPT", "LOAD", acquire(me, 1)("k").Source())
	s.put(t, "k", held(me, 1, old))
	results := redistest.Must(runner.RunAll(t.Context(), release(me, 0)("k"), script.Mutex{Lock: "k"}.Acquire(other, script.Counts{Writes: 1}, lease, false)))
	if released, _ := script.ReadReleased(results[0].Reply); !released.Held {
		t.Errorf("released as %+v", released)
	}
	wantGranted(t, results[1], nil, true)
	if got := s.state(t, "k"); !got.is(held(other, 1, lease)) {
		t.Errorf("it left %v", got)
	}
}

// Somebody else's endless script holds the server up until an operator kills it. This
// test and the next are not parallel: such a script takes a whole core.
func TestABusyServerIsRiddenOut(t *testing.T) {
	redis := redistest.Start(t, "--lua-time-limit", "50")
	s := watch(connect(t, redis.Addr()))
	runner := script.NewRunner(s, 20*second)
	s.Do(t.Context(), driver.Command{Words: []string{"SCRIPT", "LOAD", take.Source()}})

	culprit := connect(t, redis.Addr())
	killed := make(chan driver.Reply, 1)
	go func() {
		killed <- culprit.Do(context.Background(), driver.Command{Words: []string{"EVAL", "while true do end", "0"}})
	}()
	redistest.Eventually(t, 10*second, func() bool {
		refused, ok := redis.CLI(t, "PING").(redistest.ServerError)
		return ok && strings.HasPrefix(string(refused), "BUSY")
	}, "the server is busy")

	one := begin(runner, script.Mutex{Lock: "a"}.Acquire(me, script.Counts{Writes: 1}, lease, false))
	two := begin(runner, script.Mutex{Lock: "b"}.Acquire(me, script.Counts{Writes: 1}, lease, false), script.Mutex{Lock: "c"}.Acquire(me, script.Counts{Writes: 1}, lease, false))
	s.await(t, "BUSY")
	s.await(t, "BUSY")
	s.await(t, "BUSY")
	redis.CLI(t, "SCRIPT", "KILL")
	if reply := <-killed; reply.Err == nil {
		t.Errorf("the endless script came to an end: %+v", reply)
	}
	results, err := one()
	wantGranted(t, results[0], err, false)
	results, err = two()
	wantGranted(t, results[0], err, false)
	wantGranted(t, results[1], err, false)
	for _, key := range []string{"a", "b", "c"} {
		if ttl := redis.PTTL(t, key); ttl > lease || ttl < lease-20*second {
			t.Errorf("%s has the TTL %v", key, ttl)
		}
	}
}

// ending ends the call as soon as its server has refused it with a code.
type ending struct {
	driver.Driver
	code string
	end  func()
}

func (d *ending) Do(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c)[0] }

func (d *ending) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := d.Driver.Pipeline(ctx, commands...)
	if refused, ok := errors.AsType[*driver.ServerError](replies[0].Err); ok && refused.Code() == d.code {
		d.end()
	}
	return replies
}

func TestABusyServerThatIsNotFreedEndsTheCallWithoutEffect(t *testing.T) {
	redis := redistest.Start(t, "--lua-time-limit", "50")
	s := watch(connect(t, redis.Addr()))
	culprit := connect(t, redis.Addr())
	killed := make(chan driver.Reply, 1)
	go func() {
		killed <- culprit.Do(context.Background(), driver.Command{Words: []string{"EVAL", "while true do end", "0"}})
	}()
	redistest.Eventually(t, 10*second, func() bool {
		_, refused := redis.CLI(t, "PING").(redistest.ServerError)
		return refused
	}, "the server is busy")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := script.NewRunner(&ending{s, "BUSY", cancel}, 20*second).Run(ctx, take)
	server, ok := errors.AsType[*driver.ServerError](err)
	if _, unknown := errors.AsType[*script.UnknownError](err); unknown || !ok || server.Code() != "BUSY" {
		t.Errorf("the error is %v, want BUSY and nothing unknown", err)
	}
	redis.CLI(t, "SCRIPT", "KILL")
	<-killed
	if keys := redis.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("the server holds %v", keys)
	}
}

// A failover, as one of its two servers sees it.
func TestAReplicaThatBecomesTheMasterIsWaitedFor(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := watch(connect(t, redis.Addr()))
	redis.CLI(t, "REPLICAOF", "127.0.0.1", "1") // nobody listens there
	for _, calls := range [][]script.Call{
		{script.Mutex{Lock: "a"}.Acquire(me, script.Counts{Writes: 1}, lease, false)},
		{script.Mutex{Lock: "b"}.Acquire(me, script.Counts{Writes: 1}, lease, false), script.Mutex{Lock: "c"}.Acquire(me, script.Counts{Writes: 1}, lease, false)},
	} {
		redis.CLI(t, "REPLICAOF", "127.0.0.1", "1")
		wait := begin(script.NewRunner(s, 20*second), calls...)
		s.await(t, "READONLY")
		redis.CLI(t, "REPLICAOF", "NO", "ONE")
		results, err := wait()
		for _, result := range results {
			wantGranted(t, result, err, false)
		}
	}
}

// As above for what only looks: it must not ask a server for ever that has no master.
func TestReleaseRenewAndForceOnAReplicaChangeNothing(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := connectBlindly(t, redis)
	s.put(t, "k", held(me, 1, 2*lease))
	redis.CLI(t, "REPLICAOF", "127.0.0.1", "1")
	for _, call := range []script.Call{release(me, 0)("k"), renew(me)("k"), force("k")} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := script.NewRunner(&ending{s, "READONLY", cancel}, 20*second).Run(ctx, call)
		server, ok := errors.AsType[*driver.ServerError](err)
		if _, unknown := errors.AsType[*script.UnknownError](err); unknown || !ok || server.Code() != "READONLY" {
			t.Errorf("%s: the error is %v, want READONLY", call.Script(), err)
		}
	}
	redis.CLI(t, "REPLICAOF", "NO", "ONE")
	if got := s.state(t, "k"); !got.is(held(me, 1, 2*lease)) {
		t.Errorf("it left %v", got)
	}
}

func TestAServerThatStartsAnewIsRiddenOut(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := watch(connect(t, redis.Addr()))
	runner := script.NewRunner(s, 20*second)
	redis.Kill()
	wait := begin(runner, acquire(me, 1)("k"))
	select {
	case <-s.codes: // one way or the other
	case <-time.After(10 * second):
		t.Fatal("a request to a server that is gone did not come back")
	}
	redis.Restart(t)
	results := redistest.Must(wait())
	if got, err := script.ReadAcquired(results[0].Reply); err != nil || !got.Granted {
		t.Errorf("acquired as %+v, %v", got, err)
	}
}
