package goredis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// anyServer is the address of whichever server the cluster client knows. It is asked where the slots are
// if no known server answers: the cluster client goes back to its configured addresses then.
const anyServer = "any"

// openCluster puts the cluster driver on the clients that the cluster client has for its servers. So
// the rules of redlatch decide where a command goes and what is repeated, and no rule of go-redis.
func openCluster(ctx context.Context, c *redis.ClusterClient, o options) (driver.Driver, error) {
	ctx, cancel := call.Bound(ctx, time.Now(), o.timeout)
	defer cancel()
	s := newServers(c)
	err := s.refresh(ctx)
	switch {
	case errors.Is(err, redis.ErrClosed):
		return nil, unfit("it is closed")
	case err != nil:
		return nil, fmt.Errorf("ask the cluster client of go-redis for its servers: %w", refusal(err))
	}
	return cluster.Open(ctx, cluster.Options{
		Addresses:      append(slices.Collect(maps.Keys(s.clients)), anyServer),
		CommandTimeout: o.timeout,
		Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			n := newNode(address, o, server{s, address})
			n.floating = address == anyServer
			if err := n.Do(ctx, driver.Command{Words: []string{"PING"}}).Err; !answers(err) {
				n.Close()
				return nil, err
			}
			return n, nil
		},
	})
}

func newServers(c *redis.ClusterClient) *servers {
	return &servers{cluster: c, clients: make(map[string]*redis.Client), aside: call.NewAside()}
}

// servers are the clients that a cluster client has for the servers of its cluster.
type servers struct {
	cluster *redis.ClusterClient
	aside   call.Aside // asks the cluster client

	mu      sync.Mutex
	clients map[string]*redis.Client // by the address, and by the one that the servers know
}

// server is the source of a client for one address.
type server struct {
	*servers
	address string
}

func (s server) find(ctx context.Context) (*redis.Client, error) {
	if c := s.known(s.address); c != nil && s.address != anyServer {
		return c, nil
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	if c := s.known(s.address); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("the cluster client of go-redis knows no server %s", s.address)
}

func (s *servers) lost(closed *redis.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.clients, func(_ string, c *redis.Client) bool { return c == closed })
}

func (s *servers) known(address string) *redis.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address == anyServer {
		for _, c := range s.clients { // in no order
			return c
		}
	}
	return s.clients[address]
}

// refresh asks the cluster client for its clients, which it asks its servers for. That may take
// longer than ctx lasts.
func (s *servers) refresh(ctx context.Context) error {
	found, err := call.Run(ctx, s.aside, "client", func() (map[string]*redis.Client, error) { return s.ask(call.Undated(ctx)) }, func(map[string]*redis.Client) {})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = found
	return nil
}

func (s *servers) ask(ctx context.Context) (map[string]*redis.Client, error) {
	var mu sync.Mutex
	found := make(map[string]*redis.Client)
	add := func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		found[c.Options().Addr] = c
		// In newer releases of go-redis a client also knows the address that the servers have for it.
		if known, ok := any(c).(interface{ NodeAddress() string }); ok {
			if own := known.NodeAddress(); own != "" && !strings.HasPrefix(own, ":") {
				found[own] = c
			}
		}
		return nil
	}
	err := guarded(func() error { return s.cluster.ForEachShard(ctx, add) })
	if errors.Is(err, redis.Nil) {
		err = errUnknownEndpoint
	}
	return found, err
}

// errUnknownEndpoint explains what go-redis makes of servers without an address.
var errUnknownEndpoint = errors.New("the servers of the cluster do not tell their addresses " +
	"(cluster-preferred-endpoint-type unknown-endpoint), which go-redis does not understand; redlatch.Open does")
