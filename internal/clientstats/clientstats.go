// Package clientstats adds up the Stats of several clients, and names outcomes and ends, for those who export them.
package clientstats

import (
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

// Clients are the clients whose Stats are exported. The zero value has none. It is safe for
// concurrent use.
type Clients struct {
	mu     sync.Mutex
	all    []*redlatch.Client
	closed redlatch.Stats // the totals of those that were closed, and are forgotten
}

// Totals are the Stats of several clients, and the age of the oldest hold of each kind.
type Totals struct {
	redlatch.Stats
	Guarded bool // some client has protected holds, or knows watchdogs
	Oldest  map[redlatch.LockKind]time.Duration
}

// Add adds a client, unless it is there or nil.
func (c *Clients) Add(one *redlatch.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetClosed()
	if one != nil && !slices.Contains(c.all, one) {
		c.all = append(c.all, one)
	}
}

// forgetClosed keeps the totals of clients that were closed, and nothing else of them. The mutex is held.
func (c *Clients) forgetClosed() {
	c.all = slices.DeleteFunc(c.all, func(one *redlatch.Client) bool {
		s := one.Stats()
		if s.Closed {
			c.closed.FailedRenewals += s.FailedRenewals
			c.closed.Rescued += s.Rescued
		}
		return s.Closed
	})
}

// Totals are the Stats of all clients. They know the same watchdogs, or those of their own servers:
// the fewest that protect holds count.
func (c *Clients) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetClosed()
	sum := Totals{Stats: c.closed, Oldest: make(map[redlatch.LockKind]time.Duration)}
	for _, client := range c.all {
		s := client.Stats()
		sum.Holds += s.Holds
		sum.Protected += s.Protected
		sum.Waiters += s.Waiters
		sum.Subscriptions += s.Subscriptions
		sum.FailedRenewals += s.FailedRenewals
		sum.Rescued += s.Rescued
		if s.Watchdogs > 0 || s.Protected > 0 {
			if !sum.Guarded || s.Watchdogs < sum.Watchdogs {
				sum.Watchdogs = s.Watchdogs
			}
			sum.Guarded = true
		}
		for kind, age := range client.OldestHolds() {
			sum.Oldest[kind] = max(sum.Oldest[kind], age)
		}
	}
	return sum
}
