package sentinel

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

var errClosed = errors.New("driver closed")

// member is one sentinel and the connection to it, which all questions share.
type member struct {
	turn       chan struct{}   // held while the connection is made
	connection *rueidis.Driver // nil without one; guarded by council.mu
}

// member returns the one with an address, and its connection.
func (c *council) member(address string) (*member, *rueidis.Driver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.members[address]
	if m == nil {
		m = &member{turn: make(chan struct{}, 1)}
		c.members[address] = m
	}
	return m, m.connection
}

// reach returns the connection to a sentinel, and makes it if there is none. It ends with
// ctx, also while somebody else makes it.
func (c *council) reach(ctx context.Context, address string) (*rueidis.Driver, error) {
	m, d := c.member(address)
	if d != nil {
		return d, nil
	}
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-m.turn }()
	if _, d := c.member(address); d != nil {
		return d, nil
	}
	d, err := rueidis.Open(ctx, c.options.sentinel(address))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		d.Close()
		return nil, errClosed
	}
	m.connection = d
	return d, nil
}

// forget closes a connection that is of no use any more. The next question makes another.
func (c *council) forget(address string, d *rueidis.Driver) {
	c.mu.Lock()
	if m := c.members[address]; m.connection == d {
		m.connection = nil
	}
	c.mu.Unlock()
	d.Close()
}

// question asks one sentinel. The error is the connection's; the replies may be refusals.
func (c *council) question(ctx context.Context, address string, commands ...driver.Command) ([]driver.Reply, error) {
	d, err := c.reach(ctx, address)
	if err != nil {
		return nil, err
	}
	replies := d.Pipeline(ctx, commands...)
	for _, reply := range replies {
		var refused *driver.ServerError
		if reply.Err == nil || errors.As(reply.Err, &refused) {
			continue
		}
		if !errors.Is(ctx.Err(), context.Canceled) { // then nobody has waited for it
			c.forget(address, d)
		}
		return nil, reply.Err
	}
	return replies, nil
}

// close ends all connections. Later questions fail.
func (c *council) close() {
	c.mu.Lock()
	c.closed = true
	var open []*rueidis.Driver
	for _, m := range c.members {
		if m.connection != nil {
			open = append(open, m.connection)
		}
	}
	c.mu.Unlock()
	for _, d := range open {
		d.Close()
	}
}
