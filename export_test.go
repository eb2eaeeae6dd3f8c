package redlatch

import (
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// stall is a lease whose loss holds up whoever tells of it.
type stall struct{ resume chan struct{} }

func (s stall) Lost(error) { <-s.resume }

// StallRenewals holds up the renewal loop until end is called.
func (c *Client) StallRenewals() (end func()) {
	s := stall{make(chan struct{})}
	c.locks.Engine().Set(&renew.Item{Subject: s}, renew.Term{Asked: time.Now().Add(-time.Second), Lease: 10 * time.Millisecond})
	return func() { close(s.resume) }
}
