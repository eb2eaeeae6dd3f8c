package sentinel

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/driver/internal/single"
)

// conn is the connection to one sentinel, which all questions share.
type conn struct {
	connecting chan struct{}  // held while the connection is made
	driver     *single.Driver // nil without a connection; guarded by sentinels.mu
}

// send sends commands to one sentinel. The error is the connection's; the replies may be
// refusals.
func (s *sentinels) send(ctx context.Context, address string, commands ...driver.Command) ([]driver.Reply, error) {
	d, err := s.connect(ctx, address)
	if err != nil {
		return nil, err
	}
	replies := d.Pipeline(ctx, commands...)
	for _, reply := range replies {
		if _, refused := errors.AsType[*driver.ServerError](reply.Err); reply.Err == nil || refused {
			continue
		}
		if !errors.Is(ctx.Err(), context.Canceled) { // then the others had answered first
			s.discard(address, d)
		}
		return nil, reply.Err
	}
	return replies, nil
}

// connect returns the connection to a sentinel, and makes it if there is none. It ends with
// ctx, also while another call makes it.
func (s *sentinels) connect(ctx context.Context, address string) (*single.Driver, error) {
	c, d := s.conn(address)
	if d != nil {
		return d, nil
	}
	select {
	case c.connecting <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.connecting }()
	if _, d := s.conn(address); d != nil {
		return d, nil
	}
	d, err := single.Open(ctx, s.options.sentinel(address))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		d.Close()
		return nil, call.ErrClosed
	}
	c.driver = d
	return d, nil
}

// conn returns the connection to an address, and its driver.
func (s *sentinels) conn(address string) (*conn, *single.Driver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conns[address]
	if c == nil {
		c = &conn{connecting: make(chan struct{}, 1)}
		s.conns[address] = c
	}
	return c, c.driver
}

// discard closes a connection that is of no use any more. The next question makes another.
func (s *sentinels) discard(address string, d *single.Driver) {
	s.mu.Lock()
	if c := s.conns[address]; c.driver == d {
		c.driver = nil
	}
	s.mu.Unlock()
	d.Close()
}

// close ends all connections. Later questions fail.
func (s *sentinels) close() {
	s.mu.Lock()
	s.closed = true
	var open []*single.Driver
	for _, c := range s.conns {
		if c.driver != nil {
			open = append(open, c.driver)
		}
	}
	s.mu.Unlock()
	for _, d := range open {
		d.Close()
	}
}
