package goredis_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: each master of a cluster client can be addressed by itself.
func TestServersOfAClusterClient(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	d := open(t, clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}))
	servers, err := d.(driver.Fleet).Servers(t.Context())
	if err != nil || len(servers) != 3 {
		t.Fatalf("%d servers, %v", len(servers), err)
	}
	for _, s := range servers {
		if reply := s.Pipeline(t.Context(), driver.Command{Words: []string{"CLUSTER", "MYID"}})[0]; reply.Err != nil || len(reply.Str) != 40 {
			t.Errorf("%s: %v", s.Address, reply)
		}
	}
}
