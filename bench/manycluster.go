package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// clusterServers are three servers that divide the keys among themselves.
type clusterServers struct {
	deployment
	servers []*server
}

// clusterServer keeps nothing but its map on disk.
var clusterServer = software{"redis-server of a cluster", func(dir string, port int) (*exec.Cmd, error) {
	bus, err := freePort()
	if err != nil {
		return nil, err
	}
	return exec.Command("redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "no", "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus)), nil
}}

// startCluster starts the servers and waits until each knows the others.
func startCluster(ctx context.Context) (*clusterServers, error) {
	const size, slots = 3, 16384
	c := &clusterServers{}
	for range size {
		s, err := startServer(ctx, clusterServer)
		if err != nil {
			c.stop()
			return nil, err
		}
		c.servers = append(c.servers, s)
		m, err := newMeter(s.address)
		if err != nil {
			c.stop()
			return nil, err
		}
		c.meters = append(c.meters, m)
	}
	var addresses []string
	for i, s := range c.servers {
		addresses = append(addresses, s.address)
		from, to := i*slots/size, (i+1)*slots/size-1
		if err := c.meters[i].command(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to)); err != nil {
			c.stop()
			return nil, err
		}
	}
	c.url = "redis+cluster://" + strings.Join(addresses, ",")
	if err := c.meet(ctx); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// meet introduces the servers to the first one.
func (c *clusterServers) meet(ctx context.Context) error {
	host, port, err := net.SplitHostPort(c.servers[0].address)
	if err != nil {
		return err
	}
	bus, err := c.meters[0].setting(ctx, "cluster-port")
	if err != nil {
		return err
	}
	for _, m := range c.meters[1:] {
		if err := m.command(ctx, "CLUSTER", "MEET", host, port, bus); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, m := range c.meters {
		for {
			text, err := m.client.Do(ctx, m.client.B().ClusterInfo().Build()).ToString()
			if err != nil {
				return err
			}
			if strings.Contains(text, "cluster_state:ok") && strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d", len(c.meters))) {
				break
			}
			if err := until(ctx, time.Now().Add(50*time.Millisecond)); err != nil {
				return fmt.Errorf("the servers do not find one another: %w", err)
			}
		}
	}
	return nil
}

func (c *clusterServers) stop() {
	for _, m := range c.meters {
		m.close()
	}
	for _, s := range c.servers {
		s.stop()
	}
}
