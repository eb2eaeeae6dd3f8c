package goredis_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: all channels of a listener share one connection. Method: the server counts its clients.
func TestAThousandChannelsHaveOneConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, dial(t, &redis.Options{Addr: server.Addr()}))
	var acknowledged sync.WaitGroup
	acknowledged.Add(1000)
	l := listen(t, d, driver.Events{Subscribed: func(string) { acknowledged.Done() }})
	for i := range 1000 {
		if err := l.Subscribe(t.Context(), strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	acknowledged.Wait()
	if n := strings.Count(server.CLI(t, "CLIENT", "LIST", "TYPE", "pubsub").(string), "id="); n != 1 {
		t.Errorf("%d subscription connections, want 1", n)
	}
}

// Goal: the end of the connection is told, and go-redis does not connect again behind the driver's
// back: messages would be missed, and nobody would know. Method: the connection is cut while the server
// is there, so that go-redis could; a listener has an idle channel, and so nothing to notice but that.
func TestTheEndOfAConnectionIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, dialer := range map[string]func(o *redis.Options){
		"default":                   func(*redis.Options) {},
		"one that ignores contexts": func(o *redis.Options) { o.Dialer = plainDialer },
	} {
		proxy := redistest.NewProxy(t, server.Addr())
		options := eager(proxy.Addr())
		dialer(options)
		d := open(t, dial(t, options))
		var mu sync.Mutex
		count := 0
		l := listen(t, d, driver.Events{Subscribed: func(string) { mu.Lock(); count++; mu.Unlock() }})
		if err := l.Subscribe(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		proxy.Cut()
		within(t, l.Done(), "the end of the listener")
		if err := l.Subscribe(t.Context(), name); !errors.Is(err, driver.ErrNotSent) {
			t.Errorf("Subscribe: %v, want ErrNotSent", err)
		}
		redistest.Eventually(t, soon, func() bool {
			return server.CLI(t, "CLIENT", "LIST", "TYPE", "pubsub").(string) == ""
		}, "no subscription connection is left")
		mu.Lock()
		if count != 1 {
			t.Errorf("%s: %d acknowledgements, want 1", name, count)
		}
		mu.Unlock()
	}
}

// Goal: a server that says nothing any more is left.
func TestASilentServerIsNoticed(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, dial(t, &redis.Options{Addr: proxy.Addr()}), goredis.WithCommandTimeout(timeout))
	l := listen(t, d, driver.Events{})
	select {
	case <-l.Done():
		t.Fatal("an idle listener has ended")
	case <-time.After(5 * timeout):
	}
	proxy.Blackhole(true)
	defer proxy.Blackhole(false)
	began := time.Now()
	within(t, l.Done(), "the end of the listener")
	if took := time.Since(began); took > 3*timeout+slack {
		t.Errorf("it took %v, want three command timeouts at most", took)
	}
}

// Goal: a listener does not stay at a server that commands do not go to any more. Method: the address
// leads to another server from now on; existing connections last, except that of commands.
func TestAListenerAtAFormerServerEnds(t *testing.T) {
	t.Parallel()
	former, present := redistest.Start(t), redistest.Start(t)
	proxy := redistest.NewProxy(t, former.Addr())
	d := open(t, dial(t, eager(proxy.Addr())), goredis.WithCommandTimeout(300*time.Millisecond))
	l := listen(t, d, driver.Events{})
	proxy.Redirect(present.Addr())
	former.CLI(t, "CLIENT", "KILL", "TYPE", "normal")
	within(t, l.Done(), "the end of the listener")
	eventuallyWorks(t, d)
	if err := listen(t, d, driver.Events{}).Subscribe(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	if present.CLI(t, "CLIENT", "LIST", "TYPE", "pubsub") == "" {
		t.Error("the next listener is not at the present server")
	}
}

// Goal: a refused subscription is reported to who asked for it, and harms no other.
func TestARefusedSubscriptionIsReported(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "some", "on", ">secret", "+@all", "~*", "resetchannels", "&mine*")
	d := open(t, dial(t, &redis.Options{Addr: server.Addr(), Username: "some", Password: "secret"}))
	l := listen(t, d, driver.Events{})
	for range 3 {
		var refused *driver.ServerError
		if err := l.Subscribe(t.Context(), "mine", "yours"); !errors.As(err, &refused) || refused.Code() != "NOPERM" {
			t.Errorf("error %v, want NOPERM", err)
		}
		if err := l.Subscribe(t.Context(), "mine", "mine too"); err != nil {
			t.Error(err)
		}
	}
}

// Goal: the end of a connection is told at once, also if no other can be made. Method: whoever connects
// again waits for a silent server, for as long as a patient client does.
func TestTheEndOfAConnectionIsToldAtOnce(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, dial(t, eager(proxy.Addr())), goredis.WithCommandTimeout(patience))
	l := listen(t, d, driver.Events{})
	proxy.Blackhole(true)
	defer proxy.Blackhole(false)
	proxy.Cut()
	within(t, l.Done(), "the end of the listener")
}
