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

// Goal: a client whose pool has one connection can give the vote of a Quorum. Method: the application uses the connection
// between two calls. The driver takes it again, and that is no move to another server.
func TestAConnectionThatTheApplicationBorrowsHasNotMoved(t *testing.T) {
	t.Parallel()
	client := dial(t, &redis.Options{Addr: redistest.Shared(t).Addr(), PoolSize: 1})
	d := open(t, client)
	for range 3 {
		do(t, d, "PING")
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if run, moves := d.(driver.Identified).RunID(); run == "" || moves != 1 {
		t.Errorf("the server is %q after %d moves, want 1", run, moves)
	}
}
