package goredis_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: no process holds one mutex twice. Method: a name moves to another server while the former one
// lives and the connections to it last. Many calls at a time need more than one connection of a pool.
func TestAPoolOfTwoServersGrantsNothingTwice(t *testing.T) {
	t.Parallel()
	former, next := redistest.Start(t), redistest.Start(t)
	dialer, to := drivercheck.Movable(former)
	client := dial(t, &redis.Options{Addr: "name:1", Dialer: dialer})
	c := redistest.Must(redlatch.New(open(t, client), redlatch.Config{LeaseTime: 10 * time.Second}))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	held := redistest.Must(c.Mutex("job").Lock(t.Context()))
	to.Store(next)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if again, err := c.Mutex("job").TryLock(t.Context()); err == nil && held.Valid() {
				t.Errorf("%s has the lock, and so has %s", again.Owner(), held.Owner())
			}
		})
	}
	all.Wait()
}

func TestAConnectionToAnotherServerBreaksTheLinkFirst(t *testing.T) {
	t.Parallel()
	drivercheck.LinkBreaksFirst(t, func(dialer drivercheck.Dialer) driver.Driver {
		return open(t, dial(t, &redis.Options{Addr: "name:1", Dialer: dialer}))
	})
}

func TestAPrimaryThatComesBackAsAReplicaIsNotAsked(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, dial(t, &redis.Options{Addr: server.Addr()}), goredis.WithCommandTimeout(time.Second))
	drivercheck.ReplicaIsNotAsked(t, server, d)
}

// Goal: no call waits for a dialer that ignores its context, nor does Close, and there are only so many
// goroutines of such dialers. Method: one that is held up, and go-redis's own over TLS, at a server that
// says nothing.
func TestNobodyWaitsForADialer(t *testing.T) {
	t.Parallel()
	const own = 300 * time.Millisecond
	server := redistest.Shared(t)
	for name, secret := range map[string]*tls.Config{"held up": nil, "TLS": {InsecureSkipVerify: true}} {
		release, dials := make(chan struct{}), new(atomic.Int64)
		options := &redis.Options{Addr: server.Addr(), TLSConfig: secret, PoolSize: 4, MaxRetries: -1}
		if secret == nil {
			options.Dialer = func(_ context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				<-release
				return net.Dial(network, address)
			}
		} else {
			silent := redistest.Must(net.Listen("tcp", "127.0.0.1:0"))
			t.Cleanup(func() { silent.Close() })
			options.Addr = silent.Addr().String()
		}
		d := redistest.Must(goredis.New(dial(t, options), goredis.WithCommandTimeout(own)))
		began := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), own)
			for way, send := range ways(d) {
				if err := send(ctx, command("PING")).Err; !errors.Is(err, driver.ErrNotSent) {
					t.Errorf("%s, %s: %v", name, way, err)
				}
			}
			if _, err := d.Listen(ctx, driver.Events{}); !errors.Is(err, driver.ErrNotSent) {
				t.Errorf("%s, Listen: %v", name, err)
			}
			cancel()
		}
		d.Close()
		if took := time.Since(began); took > 3*own+slack {
			t.Errorf("%s: it took %v", name, took)
		}
		if n := dials.Load(); n > 4 {
			t.Errorf("%s: %d dials were under way", name, n)
		}
		close(release)
	}
}

// Goal: a listener ends in time although go-redis connects again by itself, by a dialer that ignores its
// context. Method: TLS to a server that goes silent.
func TestASubscriptionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	var silent atomic.Bool
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	proxy := redistest.NewProxy(t, server.Addr())
	options := &redis.Options{Addr: proxy.Addr(), Dialer: func(_ context.Context, network, address string) (net.Conn, error) {
		if silent.Load() {
			<-release
		}
		return net.Dial(network, address)
	}}
	d := open(t, dial(t, options), goredis.WithCommandTimeout(time.Second))
	l := listen(t, d, driver.Events{})
	silent.Store(true)
	proxy.Cut()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := l.Subscribe(ctx, "channel"); err == nil {
		t.Error("subscribed without a connection")
	}
	if took := time.Since(began); took > 500*time.Millisecond+slack {
		t.Errorf("Subscribe took %v", took)
	}
	l.Close()
	if took := time.Since(began); took > 1500*time.Millisecond+slack {
		t.Errorf("Close took %v", took)
	}
}

// Goal: a service may start before its Redis.
func TestNewConnectsLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	d := redistest.Must(goredis.New(dial(t, &redis.Options{Addr: server.Addr()})))
	t.Cleanup(d.Close)
	if err := d.Do(t.Context(), command("PING")).Err; !errors.Is(err, driver.ErrNoConnection) {
		t.Errorf("error %v, want ErrNoConnection", err)
	}
	server.Restart(t)
	eventuallyWorks(t, d)
}
