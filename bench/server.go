package main

import (
	"context"
	"strings"

	"github.com/redlatch/redlatch/internal/redistest"
)

// server is what contestants talk to: processes of the benchmark's own, on the loopback interface.
type server struct {
	address string
	meter
	end func()
}

func startRedis(context.Context) (*server, error) {
	s, err := redistest.Open()
	if err != nil {
		return nil, err
	}
	return metered(s.Addr(), s.Close)
}

// startCluster starts three servers that divide the keys among themselves.
func startCluster(context.Context) (*server, error) {
	c, err := redistest.OpenCluster(3, 0)
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
