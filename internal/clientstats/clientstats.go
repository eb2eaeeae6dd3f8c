// Package clientstats adds up the Stats of several clients, for those who export them.
package clientstats

import (
	"slices"
	"sync"

	"github.com/redlatch/redlatch"
)

// Clients are the clients whose Stats are exported. The zero value has none. It is safe for
// concurrent use.
type Clients struct {
	mu  sync.Mutex
	all []*redlatch.Client
}

// Add adds a client, unless it is there.
func (c *Clients) Add(one *redlatch.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.all, one) {
		c.all = append(c.all, one)
	}
}

// Totals are the Stats of all clients. They know the same watchdogs, or those of their own servers:
// the fewest that protect holds count.
func (c *Clients) Totals() (sum redlatch.Stats) {
	c.mu.Lock()
	all := c.all
	c.mu.Unlock()
	known := false
	for _, client := range all {
		s := client.Stats()
		sum.Holds += s.Holds
		sum.Protected += s.Protected
		sum.Waiters += s.Waiters
		sum.Subscriptions += s.Subscriptions
		sum.FailedRenewals += s.FailedRenewals
		sum.Rescued += s.Rescued
		if s.Watchdogs > 0 || s.Protected > 0 {
			if !known || s.Watchdogs < sum.Watchdogs {
				sum.Watchdogs = s.Watchdogs
			}
			known = true
		}
	}
	return sum
}
