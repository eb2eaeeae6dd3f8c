package goredis_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a call ends with its context or with the command timeout, whichever comes first, though the client has
// no timeouts. Method: nothing passes to or from the server, with a connection and without one.
func TestCallsEndInTime(t *testing.T) {
	t.Parallel()
	const timeout, own = 600 * time.Millisecond, 100 * time.Millisecond
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, dial(t, &redis.Options{Addr: proxy.Addr(), ReadTimeout: -1, WriteTimeout: -1}), goredis.WithCommandTimeout(timeout))
	proxy.Blackhole(true)
	defer proxy.Blackhole(false)
	for i := range 3 { // the first has a connection
		for way, send := range ways(d) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), own)
			err := send(ctx, command("INCR", redistest.Name(t))).Err
			cancel()
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > own+slack {
				t.Errorf("%s: error %v after %v, want the context's after %v", way, err, took, own)
			}
		}
		began := time.Now()
		err := d.Do(context.Background(), command("INCR", redistest.Name(t))).Err
		if took := time.Since(began); err == nil || took > timeout+slack {
			t.Errorf("without a deadline, %d: error %v after %v", i, err, took)
		}
		wantNoContextError(t, err)
	}
	began := time.Now()
	if _, err := d.Listen(t.Context(), driver.Events{}); err == nil || time.Since(began) > 2*timeout+slack {
		t.Errorf("Listen: error %v after %v", err, time.Since(began))
	}
}

// Goal: a command that was reported as not sent is not sent later. Method: the pool has one connection,
// which is in use when the calls give up.
func TestAWithdrawnCommandIsNeverSent(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	client := dial(t, inOnePool(redis.Options{Addr: server.Addr(), PoolSize: 1, ClientName: name}))
	d := open(t, client)
	held := make(chan error, 1)
	go func() { held <- client.BLPop(t.Context(), 0, name).Err() }() // the application's own
	blocked := regexp.MustCompile(`name=` + name + ` .*cmd=blpop`)
	redistest.Eventually(t, soon, func() bool { return blocked.MatchString(server.CLI(t, "CLIENT", "LIST").(string)) }, "the connection is in use")
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			defer cancel()
			err := d.Do(ctx, command("INCR", name+strconv.Itoa(i))).Err
			wantNotSent(t, err)
			if i > 20 && errors.Is(err, driver.ErrNoConnection) {
				t.Errorf("error %v: the server is there, the pool is in use", err)
			}
		})
	}
	calls.Wait()
	server.CLI(t, "LPUSH", name, "x")
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	do(t, d, "PING")
	for i := range 100 {
		if got := server.CLI(t, "GET", name+strconv.Itoa(i)); got != nil {
			t.Errorf("the key of call %d is %v: it was sent although it was withdrawn", i, got)
		}
	}
}

// Goal: the application can use a pool of one connection beside locks, whichever option makes it so small. If it uses
// the connection, a call says so, and not that the server is away.
func TestAPoolOfOneConnectionIsShared(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]redis.Options{"PoolSize": {PoolSize: 1}, "MaxActiveConns": {MaxActiveConns: 1}} {
		t.Run(name, func(t *testing.T) {
			o.Addr = redistest.Shared(t).Addr()
			client := dial(t, inOnePool(o))
			d := open(t, client)
			do(t, d, "PING")
			redistest.Eventually(t, soon, func() bool { return client.Ping(t.Context()).Err() == nil }, "the application has the connection")
			err := client.Watch(t.Context(), func(tx *redis.Tx) error {
				if err := tx.Ping(t.Context()).Err(); err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				return d.Do(ctx, command("PING")).Err
			})
			if wantNotSent(t, err); errors.Is(err, driver.ErrNoConnection) {
				t.Errorf("error %v: the server is there, the pool is in use", err)
			}
		})
	}
}

// Goal: no error claims too much when calls end at any moment. Method: many of them, with deadlines
// around the time that a call takes. What was not sent is not there; what succeeded is; nothing is
// there twice.
func TestErrorsAreRightWhenTimeRunsOut(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	d := open(t, dial(t, &redis.Options{Addr: server.Addr(), PoolSize: 3, MaxRetries: 10}))
	name := redistest.Name(t)
	const callers, each = 20, 200
	outcomes := make([][each]error, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*10)*time.Microsecond)
				outcomes[caller][i] = d.Do(ctx, command("INCR", name+strconv.Itoa(caller*each+i))).Err
				cancel()
			}
		})
	}
	all.Wait()
	counts := map[string]int{}
	for caller := range callers {
		for i, err := range outcomes[caller] {
			got, _ := server.CLI(t, "GET", name+strconv.Itoa(caller*each+i)).(string)
			switch {
			case err == nil && got != "1", errors.Is(err, driver.ErrNotSent) && got != "", got != "" && got != "1":
				t.Errorf("a call with the error %v has left %q", err, got)
			case err == nil:
				counts["succeeded"]++
			case errors.Is(err, driver.ErrNotSent):
				counts["not sent"]++
			default:
				counts["unknown"]++
			}
		}
	}
	t.Log(counts)
}

// Goal: a server that is gone is reported as such, at once or within the command timeout, and used again
// when it is back.
func TestTheServerIsGoneForAWhile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, dial(t, eager(server.Addr())), goredis.WithCommandTimeout(time.Second))
	server.Kill()
	redistest.Eventually(t, soon, func() bool {
		err := d.Do(t.Context(), command("PING")).Err
		wantNoContextError(t, err)
		return errors.Is(err, driver.ErrNoConnection) && errors.Is(err, driver.ErrNotSent)
	}, "it is reported that there is no connection")
	server.Restart(t)
	eventuallyWorks(t, d)
}

// Goal: only the context bounds a dedicated pipeline, and not the client's timeouts.
func TestADedicatedPipelineOutlastsTheClientsTimeouts(t *testing.T) {
	t.Parallel()
	options := eager(redistest.Shared(t).Addr())
	options.ReadTimeout = 200 * time.Millisecond
	d := open(t, dial(t, options), goredis.WithCommandTimeout(200*time.Millisecond))
	for name, limit := range map[string]time.Duration{"a deadline": soon, "none": 0} {
		ctx := t.Context()
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		if reply := d.DedicatedPipeline(ctx, command("BLPOP", redistest.Name(t), "1"))[0]; !reply.IsNil {
			t.Errorf("with %s: %+v, want nil after a second", name, reply)
		}
	}
}

// Goal: dedicated pipelines leave connections of a small pool to others. Method: more of them than the
// pool has connections wait for nothing.
func TestDedicatedPipelinesLeaveHalfOfThePool(t *testing.T) {
	t.Parallel()
	d := open(t, dial(t, inOnePool(redis.Options{Addr: redistest.Shared(t).Addr(), PoolSize: 4})))
	ctx, cancel := context.WithCancel(t.Context())
	name := redistest.Name(t)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { d.DedicatedPipeline(ctx, command("BLPOP", name, "60")) })
	}
	for range 100 {
		within, done := context.WithTimeout(t.Context(), soon)
		if err := d.Do(within, command("PING")).Err; err != nil {
			t.Error(err)
		}
		done()
	}
	cancel()
	all.Wait()
}
