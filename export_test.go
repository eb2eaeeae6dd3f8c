package redlatch

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// ParseURL tells what a URL is understood to say, secrets included.
func ParseURL(text string) (string, error) {
	t, err := parseURL(text)
	return fmt.Sprintf("%v as %q:%q, sentinels as %q:%q", t, t.username, t.password, t.sentinelUsername, t.sentinelPassword), err
}

// Identity is by what the server of a URL is known.
func Identity(text string) (string, error) {
	t, err := parseURL(text)
	return t.identity(), err
}

// stall is a lease whose loss holds up whoever tells of it.
type stall struct{ resume chan struct{} }

func (s stall) Lost(error) { <-s.resume }

// StallRenewals holds up the renewal loop until end is called.
func (c *Client) StallRenewals() (end func()) {
	s := stall{make(chan struct{})}
	c.engine.Set(&renew.Item{Subject: s}, renew.Term{Asked: time.Now().Add(-time.Second), Lease: 10 * time.Millisecond})
	return func() { close(s.resume) }
}
