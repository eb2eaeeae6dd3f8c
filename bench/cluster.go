package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// startCluster starts three servers that divide the keys among themselves, and waits until each knows
// the others. It returns their addresses with commas between them.
func startCluster(ctx context.Context) (addresses string, stop func(), err error) {
	const size, slots = 3, 16384
	var servers []*server
	stop = func() {
		for _, s := range servers {
			s.stop()
		}
	}
	for i := range size {
		s, err := startRedis(ctx, clusterServer)
		if err != nil {
			stop()
			return "", nil, err
		}
		servers = append(servers, s)
		addresses += "," + s.address
		from, to := strconv.Itoa(i*slots/size), strconv.Itoa((i+1)*slots/size-1)
		if err := s.command(ctx, "CLUSTER", "ADDSLOTSRANGE", from, to).Error(); err != nil {
			stop()
			return "", nil, err
		}
	}
	if err := meet(ctx, servers); err != nil {
		stop()
		return "", nil, err
	}
	return addresses[1:], stop, nil
}

// meet introduces the servers to the first one.
func meet(ctx context.Context, servers []*server) error {
	host, port, err := net.SplitHostPort(servers[0].address)
	if err != nil {
		return err
	}
	setting, err := servers[0].command(ctx, "CONFIG", "GET", "cluster-port").AsStrMap()
	if err != nil {
		return err
	}
	for _, s := range servers[1:] {
		if err := s.command(ctx, "CLUSTER", "MEET", host, port, setting["cluster-port"]).Error(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, s := range servers {
		for {
			text, err := s.command(ctx, "CLUSTER", "INFO").ToString()
			if err != nil {
				return err
			}
			if strings.Contains(text, "cluster_state:ok") && strings.Contains(text, fmt.Sprintf("cluster_known_nodes:%d", len(servers))) {
				break
			}
			if err := until(ctx, time.Now().Add(50*time.Millisecond)); err != nil {
				return fmt.Errorf("the servers do not find one another: %w", err)
			}
		}
	}
	return nil
}
