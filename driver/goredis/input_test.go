package goredis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// wrapped is an application's own kind of client.
type wrapped struct{ *redis.Client }

func TestNewRefusesClientsThatCannotWork(t *testing.T) {
	t.Parallel()
	address := redistest.Shared(t).Addr()
	addresses := redistest.SharedCluster(t).Addrs()
	closed, closedCluster := dial(t, &redis.Options{Addr: address}), redis.NewClusterClient(&redis.ClusterOptions{Addrs: addresses})
	_, _ = closed.Close(), closedCluster.Close()
	pipeliner, newer := autoPipeliner(t, dial(t, &redis.Options{Addr: address}))
	inCluster := func(o redis.ClusterOptions) redis.UniversalClient {
		o.Addrs = addresses
		return until(t, redis.NewClusterClient(&o))
	}
	replicas := redistest.StartReplicas(t, 1)
	for _, c := range []struct {
		name   string
		client redis.UniversalClient
		want   string
	}{
		{"nothing", nil, "nil"},
		{"a nil client", (*redis.Client)(nil), "nil"},
		{"a nil cluster client", (*redis.ClusterClient)(nil), "nil"},
		{"a closed client", closed, "closed"},
		{"a closed cluster client", closedCluster, "closed"},
		{"a ring", until(t, redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": address}})), "two holders"},
		{"a pipeliner", pipeliner, "the client that it was made of"},
		{"an own kind", wrapped{dial(t, &redis.Options{Addr: address})}, "wrapped"},
		{"a replica", dial(t, &redis.Options{Addr: replicas.Replicas[0].Addr()}), "replica"},
		{"reads of replicas", inCluster(redis.ClusterOptions{ReadOnly: true}), "ReadOnly"},
		{"reads by latency", inCluster(redis.ClusterOptions{RouteByLatency: true}), "RouteByLatency"},
		{"reads at random", inCluster(redis.ClusterOptions{RouteRandomly: true}), "RouteRandomly"},
		{"own slots", inCluster(redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return nil, nil }}), "ClusterSlots"},
		{"sentinels as a cluster", until(t, redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "x", SentinelAddrs: []string{address}})), "NewFailoverClient"},
	} {
		if c.name == "a pipeliner" && !newer {
			continue
		}
		d, err := goredis.Open(t.Context(), c.client)
		if wrong, ok := errors.AsType[*driver.OptionError](err); !ok || wrong.Option != "client" || !strings.Contains(wrong.Reason, c.want) {
			t.Errorf("%s: error %v, want an OptionError that says %q", c.name, err, c.want)
		}
		if err == nil {
			d.Close()
		}
	}
	var wrong *driver.OptionError
	if _, err := goredis.Open(t.Context(), dial(t, eager(address)), goredis.WithCommandTimeout(-1)); !errors.As(err, &wrong) || wrong.Option != "CommandTimeout" {
		t.Errorf("a negative timeout: %v", err)
	}
}

// Goal: New ends in time and says why, and its error is no context's.
func TestNewNeedsAServer(t *testing.T) {
	t.Parallel()
	silent := redistest.NewProxy(t, redistest.Shared(t).Addr())
	silent.Blackhole(true)
	defer silent.Blackhole(false)
	locked := redistest.Start(t, "--requirepass", "secret")
	for name, address := range map[string]string{"nobody": "127.0.0.1:1", "silent": silent.Addr(), "locked": locked.Addr()} {
		for kind, client := range map[string]redis.UniversalClient{
			"client":  dial(t, &redis.Options{Addr: address}),
			"cluster": until(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{address}})),
		} {
			timeout := 300 * time.Millisecond
			if name == "locked" { // it answers
				timeout = soon
			}
			began := time.Now()
			_, err := goredis.Open(t.Context(), client, goredis.WithCommandTimeout(timeout))
			t.Logf("%s, %s: %v", name, kind, err)
			if took := time.Since(began); err == nil || took > timeout+slack {
				t.Errorf("%s, %s: error %v after %v", name, kind, err, took)
			}
			wantNoContextError(t, err)
			if refused, ok := errors.AsType[*driver.ServerError](err); name == "locked" && (!ok || refused.Code() != "NOAUTH") {
				t.Errorf("%s, %s: error %v, want NOAUTH", name, kind, err)
			}
		}
	}
}
