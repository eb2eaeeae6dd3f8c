package goredis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/internal/redistest"
)

// kinds are an open client of each kind.
func kinds(t *testing.T) map[string]redis.UniversalClient {
	return map[string]redis.UniversalClient{
		"client":  dial(t, &redis.Options{Addr: redistest.Shared(t).Addr()}),
		"cluster": until(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: redistest.SharedCluster(t).Addrs()})),
	}
}

// Goal: the client belongs to the application, and each driver to its user. Method: two drivers over one
// client, one of which is closed.
func TestCloseLeavesTheClientAndOtherDriversAlone(t *testing.T) {
	t.Parallel()
	for kind, client := range kinds(t) {
		key := redistest.Name(t)
		one, other := open(t, client), open(t, client)
		l, err := other.Listen(t.Context(), driver.Events{})
		if err != nil {
			t.Fatal(err)
		}
		do(t, one, "INCR", key)
		one.Close()
		wantNotSent(t, one.Do(t.Context(), command("INCR", key)).Err)
		do(t, other, "INCR", key)
		if err := l.Subscribe(t.Context(), key); err != nil {
			t.Errorf("%s: the other's listener: %v", kind, err)
		}
		if n, err := client.Incr(t.Context(), key).Result(); n != 3 || err != nil {
			t.Errorf("%s: the client: %d, %v", kind, n, err)
		}
	}
}

func TestAClientThatIsClosedEndsItsDrivers(t *testing.T) {
	t.Parallel()
	client := dial(t, &redis.Options{Addr: redistest.Shared(t).Addr()})
	d := open(t, client)
	l := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	under := make(chan error, 1)
	go func() { under <- d.Do(t.Context(), command("BLPOP", redistest.Name(t), "5")).Err }()
	redistest.Eventually(t, soon, func() bool { return client.PoolStats().IdleConns == 0 }, "the call is under way")
	began := time.Now()
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-under; err == nil || time.Since(began) > slack {
		t.Errorf("a call outlived the client by %v: %v", time.Since(began), err)
	}
	within(t, l.Done(), "the end of the listener")
	began = time.Now()
	for range 5 {
		for way, send := range ways(d) {
			err := send(t.Context(), command("PING")).Err
			if !errors.Is(err, driver.ErrNotSent) || !errors.Is(err, redis.ErrClosed) {
				t.Errorf("%s: error %v, want that the client is closed", way, err)
			}
		}
	}
	if took := time.Since(began); took > soon/3 {
		t.Errorf("20 refusals took %v", took)
	}
	if _, err := d.Listen(t.Context(), driver.Events{}); !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("Listen: %v", err)
	}
}

// Goal: a cluster client that is closed ends its drivers, too.
func TestAClusterClientThatIsClosedEndsItsDrivers(t *testing.T) {
	t.Parallel()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: redistest.SharedCluster(t).Addrs()})
	d := open(t, client)
	key := redistest.Name(t)
	do(t, d, "INCR", key)
	_ = client.Close()
	for way, send := range ways(d) {
		err := send(t.Context(), command("INCR", key)).Err
		wantNotSent(t, err)
		t.Logf("%s: %v", way, err)
	}
}

// Goal: Close answers the calls that wait for a connection. Method: the dialer hangs, and there is no other limit.
func TestCloseAnswersTheCallsThatWait(t *testing.T) {
	t.Parallel()
	release, dials := make(chan struct{}), make(chan struct{}, 100)
	t.Cleanup(func() { close(release) })
	d := redistest.Must(goredis.New(dial(t, &redis.Options{Addr: "name:1", Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials <- struct{}{}
		<-release
		return nil, errors.New("too late")
	}}), goredis.WithCommandTimeout(time.Hour)))
	answers := make(chan error, 10)
	for range cap(answers) {
		go func() { answers <- d.Do(context.Background(), command("PING")).Err }()
	}
	<-dials
	d.Close()
	for range cap(answers) {
		wantNotSent(t, drivercheck.Within(t, answers, "the answer to a call"))
	}
}
