package goredis_test

import (
	"context"
	"errors"
	"net"
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

// clusterClient is a client of a cluster that repeats whatever it may.
func clusterClient(t *testing.T, options redis.ClusterOptions) *redis.ClusterClient {
	options.MaxRetries, options.MaxRedirects = 10, 10
	options.MinRetryBackoff, options.MaxRetryBackoff = time.Millisecond, time.Millisecond
	return until(t, redis.NewClusterClient(&options))
}

// Goal: nothing is sent twice in a cluster, either. Method: as for one server; the client reaches one
// master through a proxy.
func TestNothingIsSentTwiceInACluster(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	server := c.Servers[0]
	proxy := redistest.NewProxy(t, server.Addr())
	d := open(t, clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs(), Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == server.Addr() {
			address = proxy.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}))
	home := c.KeyAt(t, server)
	for name, send := range ways(d) {
		for lost, drop := range map[string]func(int, func([]byte) bool){"reply": proxy.DropReplies, "request": proxy.DropRequests} {
			key := "{" + home + "}" + name + lost
			drop(1, redistest.Containing(key))
			wantUnknown(t, send(t.Context(), command("INCR", key)).Err)
			want := map[string]any{"reply": "1", "request": nil}[lost]
			if got := server.CLI(t, "GET", key); got != want {
				t.Errorf("%s, the %s was lost: the key is %v, want %v", name, lost, got, want)
			}
			redistest.Eventually(t, soon, func() bool { return d.Do(t.Context(), command("GET", key)).Err == nil }, "commands work again")
		}
	}
}

// Goal: an address that the servers do not know, such as one name for all of them, and a host that only
// the client can reach, are no obstacle.
func TestAddressesThatOnlyTheClientKnows(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	options := redis.ClusterOptions{
		Addrs: []string{"all-of-them:6379"},
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			if portOf(address) == "6379" {
				address = c.Servers[1].Addr()
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", portOf(address)))
		},
	}
	leaveNamesAlone(&options)
	d := open(t, clusterClient(t, options))
	for _, s := range c.Servers {
		do(t, d, "INCR", c.KeyAt(t, s))
	}
}

// Goal: a cluster whose servers do not tell their addresses is refused by an error that says so.
func TestServersWithoutAddressesAreExplained(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 1, 0)
	c.Servers[0].CLI(t, "CONFIG", "SET", "cluster-preferred-endpoint-type", "unknown-endpoint")
	_, err := goredis.New(until(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})), goredis.WithCommandTimeout(time.Second))
	if err == nil || !strings.Contains(err.Error(), "unknown-endpoint") || errors.Is(err, redis.Nil) {
		t.Errorf("error %v, want one that names unknown-endpoint", err)
	}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// tally counts what succeeded, by key.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	failed map[string]error
}

// increment increments keys until stop is closed, and counts.
func increment(d driver.Driver, stop <-chan struct{}, keys ...string) (*tally, *sync.WaitGroup) {
	c, callers := &tally{counts: make(map[string]int), failed: make(map[string]error)}, &sync.WaitGroup{}
	for _, key := range keys {
		callers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				reply := d.Do(context.Background(), command("INCR", key))
				c.mu.Lock()
				if reply.Err == nil {
					c.counts[key]++
				} else {
					c.failed[key] = reply.Err
				}
				c.mu.Unlock()
			}
		})
	}
	return c, callers
}

func (c *tally) get(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[key]
}

// Goal: a slot that moves loses no command and repeats none. Method: increments while it moves back and
// forth.
func TestASlotMovesUnderCommands(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	d := open(t, clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}))
	home := c.KeyAt(t, c.Servers[0])
	keys := []string{home, "{" + home + "}1", "{" + home + "}2"}
	stop := make(chan struct{})
	counted, callers := increment(d, stop, keys...)
	for i := range 6 {
		c.MoveSlot(t, home, c.Servers[(i+1)%3], func() { time.Sleep(20 * time.Millisecond) })
		before := counted.get(home)
		redistest.Eventually(t, later, func() bool { return counted.get(home) > before+20 }, "the slot's new server is used")
	}
	close(stop)
	callers.Wait()
	for _, key := range keys {
		if err := counted.failed[key]; err != nil {
			if refused, ok := errors.AsType[*driver.ServerError](err); !ok || refused.Code() != "TRYAGAIN" {
				t.Errorf("an increment of %s failed: %v", key, err)
			}
		}
		if got := do(t, d, "GET", key).Str; got != strconv.Itoa(counted.counts[key]) {
			t.Errorf("%s is %s after %d increments", key, got, counted.counts[key])
		}
	}
}

// Goal: the loss of a master harms those alone who need its slots, until another one has taken over.
func TestAMasterIsLost(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(*redistest.Server){"killed": (*redistest.Server).Kill, "frozen": (*redistest.Server).Freeze} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, 3, 1)
			victim := c.Servers[0]
			key, other := c.KeyAt(t, victim), c.KeyAt(t, c.Servers[1])
			d := open(t, clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}), goredis.WithCommandTimeout(5*time.Second))
			r := listenAndWait(t, d, key)
			do(t, d, "GET", key)
			stop := make(chan struct{})
			counted, callers := increment(d, stop, key, other)
			redistest.Eventually(t, soon, func() bool { return counted.get(key) > 20 && counted.get(other) > 20 }, "there is traffic")
			hurt(victim)
			r.Reset()
			c.AwaitNewMaster(t, key, victim)
			before := counted.get(key)
			redistest.Eventually(t, later, func() bool { return counted.get(key) > before }, "the new master is used")
			close(stop)
			callers.Wait()
			if err := counted.failed[other]; err != nil {
				t.Errorf("a server that nothing happened to: %v", err)
			}
			r.Await(t, "+"+key, 1)
			r.Receives(t, d, "after", key)
		})
	}
}

// Goal: a server that was gone for a while is used again. The cluster client has closed its client for
// that server by then, a minute after the server was gone, and has another one.
func TestAServerThatComesBackIsUsed(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	address := c.Servers[0].Addr()
	former := dial(t, &redis.Options{Addr: address})
	_ = former.Close()
	n := goredis.NewNode(clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}), address, former)
	t.Cleanup(n.Close)
	if err := n.Do(t.Context(), command("PING")).Err; !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("error %v, want ErrNotSent", err)
	}
	do(t, n, "PING")
	n = goredis.NewNode(clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}), address, former)
	t.Cleanup(n.Close)
	if _, err := n.Listen(t.Context(), driver.Events{}); !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("error %v, want ErrNotSent", err)
	}
	listen(t, n, driver.Events{})
}

// Goal: a migrating slot delays no command. Method: one key is moved, others stay, others are new.
func TestLongASlotStaysOpen(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	from, to := c.Servers[0], c.Servers[1]
	home := c.KeyAt(t, from)
	key := func(name string) string { return "{" + home + "}" + name }
	incr := func(name string) driver.Command {
		return driver.Command{Words: []string{"EVAL", "return redis.call('incr', KEYS[1])", "1", key(name)}, Key: key(name)}
	}
	d := open(t, clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}))
	for _, name := range []string{"moved", "stays"} {
		do(t, d, "INCR", key(name))
	}
	c.MoveSlot(t, home, to, func() {
		if got := from.CLI(t, "MIGRATE", "127.0.0.1", portOf(to.Addr()), key("moved"), "0", "5000"); got != "OK" {
			t.Fatal(got)
		}
		for i := range 50 {
			for _, name := range []string{"moved", "stays"} {
				if reply := d.Do(t.Context(), incr(name)); reply.Int != int64(2+i) {
					t.Fatalf("%s, the %dth time: %+v", name, i, reply)
				}
			}
			replies := d.Pipeline(t.Context(), incr("new"+strconv.Itoa(i)), incr("piped"), incr("piped"))
			if replies[0].Int != 1 || replies[1].Int != int64(1+2*i) || replies[2].Int != int64(2+2*i) {
				t.Fatalf("a pipeline: %+v", replies)
			}
		}
	})
}
