package main

import (
	"strings"

	"github.com/redlatch/redlatch/internal/redistest"
)

// server is what contestants talk to: processes of the benchmark's own, on the loopback interface.
type server struct {
	address string
	meter
	end func()
}

func startRedis(args ...string) (*server, error) {
	s, err := redistest.Open(args...)
	if err != nil {
		return nil, err
	}
	return metered(s.Addr(), s.Close)
}

// startCluster starts servers that divide the keys among themselves.
func startCluster(shards int) (*server, error) {
	c, err := redistest.OpenCluster(shards, 0)
	if err != nil {
		c.Close()
		return nil, err
	}
	return metered(strings.Join(c.Addrs(), ","), c.Close)
}

func metered(address string, end func()) (*server, error) {
	m, err := newMeter(address)
	if err != nil {
		end()
		return nil, err
	}
	return &server{address, m, func() { m.close(); end() }}, nil
}
