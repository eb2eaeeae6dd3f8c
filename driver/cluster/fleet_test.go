package cluster_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: each master can be addressed by itself, and there is none too many. Method: a key lies on
// each master; SCAN on each finds that one alone.
func TestServersAreTheMasters(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	d := open(t, c.Addrs()[0])
	servers, err := d.Servers(t.Context())
	if err != nil || len(servers) != 3 {
		t.Fatalf("%d servers, %v", len(servers), err)
	}
	keys := make(map[string]string)
	for _, s := range c.Servers[:3] {
		key := c.KeyAt(t, s)
		keys[s.Addr()] = key
		do(t, d, "SET", key, "1")
	}
	for _, s := range servers {
		replies := s.Pipeline(t.Context(), driver.Command{Words: []string{"SCAN", "0", "COUNT", "1000"}}, driver.Command{Words: []string{"DBSIZE"}})
		if found := replies[0].Array[1].Array; len(found) != 1 || found[0].Str != keys[s.Address] || replies[1].Int != 1 {
			t.Errorf("%s: %v", s.Address, replies)
		}
		other := driver.Command{Words: []string{"GET", keys[servers[0].Address]}}
		if s.Address != servers[0].Address {
			if _, refused := errors.AsType[*driver.ServerError](s.Pipeline(t.Context(), other)[0].Err); !refused {
				t.Errorf("%s answered for a key of another server", s.Address)
			}
		}
	}
}

// Goal: the masters are those of now. Method: one fails over.
func TestServersFollowAFailover(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	d := open(t, c.Addrs()...)
	key := c.KeyAt(t, c.Servers[0])
	now := c.FailOver(t, key)
	redistest.Eventually(t, later, func() bool {
		servers, err := d.Servers(t.Context())
		isAt := func(address string) bool {
			return slices.ContainsFunc(servers, func(s driver.Server) bool { return s.Address == address })
		}
		return err == nil && len(servers) == 3 && isAt(now.Addr()) && !isAt(c.Servers[0].Addr())
	}, "the new master is among the servers, and the old one is not")
}

func TestServersOfAClosedDriver(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	d := open(t, c.Addrs()...)
	servers := redistest.Must(d.Servers(t.Context()))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Servers(over); !errors.Is(err, context.Canceled) || !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("after the end of the context: %v", err)
	}
	if err := servers[0].Pipeline(over, driver.Command{Words: []string{"PING"}})[0].Err; !errors.Is(err, context.Canceled) {
		t.Errorf("a command after the end of the context: %v", err)
	}
	if replies := servers[0].Pipeline(t.Context()); replies != nil {
		t.Errorf("no command was answered by %v", replies)
	}
	d.Close()
	if _, err := d.Servers(t.Context()); !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("closed: %v", err)
	}
	if err := servers[0].Pipeline(t.Context(), driver.Command{Words: []string{"PING"}})[0].Err; !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("a command after Close: %v", err)
	}
}
