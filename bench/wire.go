package main

import (
	"context"
	"net"
	"sync/atomic"
)

// wire makes connections and counts what is written on them. One write is one
// flush of a pipeline: as many commands as it carries, they share one round trip.
type wire struct {
	writes atomic.Int64
}

// Dial makes one connection.
func (w *wire) Dial(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return countedConn{conn, w}, nil
}

type countedConn struct {
	net.Conn
	wire *wire
}

// Write counts one write.
func (c countedConn) Write(b []byte) (int, error) {
	c.wire.writes.Add(1)
	return c.Conn.Write(b)
}
