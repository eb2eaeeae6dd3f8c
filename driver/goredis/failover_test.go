package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/internal/redistest"
)

// failoverClient is a client of the primary that sentinels know.
func failoverClient(t *testing.T, s *redistest.Sentinels, dial func(context.Context, string, string) (net.Conn, error)) *redis.Client {
	return until(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs(), Dialer: dial, MaxRetries: 10}))
}

// Goal: commands and listeners follow to the new primary when the old one dies.
func TestLongFailover(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	drivercheck.FollowsFailover(t, open(t, failoverClient(t, s, nil), goredis.WithCommandTimeout(time.Second)), s)
}

// Goal: a primary that is cut off from everybody but the client is left, by its listeners as well,
// although nothing breaks. Method: the client has a way of its own to the first primary.
func TestAPartitionOfSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	first := s.Primary(t)
	front, back := first.Addr(), first.Server.Addr()
	client := failoverClient(t, s, func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == front {
			address = back
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	})
	d := open(t, client, goredis.WithCommandTimeout(time.Second))
	calls := startStream(t, d)
	calls.AwaitMore(t, 50)
	l := listen(t, d, driver.Events{})
	first.Front.Blackhole(true)
	defer first.Front.Blackhole(false)
	second := s.AwaitFailover(t, first)
	within(t, l.Done(), "the end of the listener at the former primary")
	if text, _ := first.Try("PING"); text != "PONG" {
		t.Errorf("the former primary is not there any more: %v", text)
	}
	redistest.Eventually(t, soon, func() bool {
		reply, _ := second.Try("GET", "stream")
		before, _ := reply.(string)
		calls.AwaitMore(t, 20)
		reply, _ = second.Try("GET", "stream")
		after, _ := reply.(string)
		return after != before
	}, "the commands have moved")
	redistest.Eventually(t, soon, func() bool {
		l, err := d.Listen(t.Context(), driver.Events{})
		if err != nil {
			return false
		}
		defer l.Close()
		_ = l.Subscribe(t.Context(), "channel")
		heard := fmt.Sprint(second.CLI(t, "PUBLISH", "channel", "hello"))
		return heard == "1"
	}, "a listener is at the new primary")
}

// Goal: a client that was told to use replicas only is refused.
func TestAClientOfReplicasIsRefused(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	client := until(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: s.Addrs(), ReplicaOnly: true}))
	var wrong *driver.OptionError
	if _, err := goredis.Open(t.Context(), client); !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, "replica") {
		t.Errorf("error %v, want an OptionError", err)
	}
}
