package goredis

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
)

// NewNode is the driver of one server of a cluster, which knows a client for it already.
func NewNode(c *redis.ClusterClient, address string, known *redis.Client) driver.Driver {
	s := newServers(c)
	s.clients[address] = known
	return newNode(address, options{timeout: 3 * time.Second}, server{s, address})
}
