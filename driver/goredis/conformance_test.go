package goredis_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/drivertest"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// patience is a command timeout that no busy machine exceeds.
const patience = 20 * time.Second

// Goal: the driver keeps its promises with any settings of the client. Method: the suite, with those
// that go-redis treats the calls differently by.
func TestPassesTheSuite(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, options := range map[string]redis.Options{
		"defaults":             {},
		"RESP2":                {Protocol: 2},
		"no timeouts":          {ReadTimeout: -1, WriteTimeout: -1},
		"no deadlines":         {ReadTimeout: -2, WriteTimeout: -2},
		"the context's":        {ContextTimeoutEnabled: true},
		"many retries":         {MaxRetries: 10, MaxRetryBackoff: time.Millisecond},
		"no pool of pipelines": *inOnePool(redis.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options.Addr = server.Addr()
			drivertest.Run(t, func(t *testing.T) driver.Driver {
				own := options
				return open(t, dial(t, &own), goredis.WithCommandTimeout(patience))
			})
		})
	}
}

func TestPassesTheSuiteBehindSentinels(t *testing.T) {
	t.Parallel()
	server, watcher := redistest.Shared(t), redistest.StartSentinel(t)
	watcher.Watch(t, "locks", server.Addr(), 1)
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		client := until(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "locks", SentinelAddrs: []string{watcher.Addr()}}))
		return open(t, client, goredis.WithCommandTimeout(patience))
	})
}

func TestPassesTheSuiteInACluster(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	drivertest.Run(t, func(t *testing.T) driver.Driver {
		client := until(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()[:1]}))
		return open(t, client, goredis.WithCommandTimeout(patience))
	})
}
