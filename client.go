package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/multilock"
)

// Client makes locks on one Redis deployment and keeps what is held. For any number of locks
// it uses one connection for commands, one for Pub/Sub while anyone waits, and one for
// liveness if Config.Protect is set. It is safe for concurrent use.
type Client struct {
	locks  *lock.Manager
	server *multilock.Server
}

// New returns a client on a connection of the caller's. Closing the client does not
// close d. It sends nothing. The error is a *ConfigError.
func New(d driver.Driver, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, &ConfigError{Field: "driver", Reason: "it is nil"}
	}
	return newClient(cfg.settings(d), "", 0, cfg.RestartDelay), nil
}

// newClient makes a client on the server of that address, by which a Multi and a Quorum tell
// servers apart.
func newClient(settings lock.Settings, address string, database int, restartDelay time.Duration) *Client {
	locks := lock.New(settings)
	_, embedded := settings.Driver.(driver.Embedded)
	return &Client{locks, &multilock.Server{
		Locks: locks, Driver: settings.Driver, Address: address, Database: database,
		Restart: multilock.Restart{Delay: restartDelay, Never: embedded, Timeout: settings.CommandTimeout},
	}}
}

// ID is the client's UUID, the first half of every owner that it makes.
func (c *Client) ID() string { return c.locks.ID() }

// Driver is the connection on which the client works, for what else is to work on it,
// such as fence.Redis or a watchdog.Watchdog. One that Open made ends with the client.
func (c *Client) Driver() driver.Driver { return c.server.Driver }

// WithOwner returns a context with an owner of its own. Below that context every acquisition
// by this client is made by this owner: Lock inside Lock re-enters and raises the count in
// Redis. The context does what the thread does in Java. Goroutines that are to exclude each
// other need an owner each. The owner's number in Redis (Hold.Owner) is a new one each time
// it takes a lock of which it held nothing.
func (c *Client) WithOwner(ctx context.Context) context.Context { return c.locks.WithOwner(ctx) }

// Close releases every hold, ends every wait with ErrClosed, and ends every
// goroutine and connection of the client. It blocks until that is done or ctx has
// ended. Then it goes on by itself, and a further call waits for it. Every part of it
// is bounded by the client's own timeouts.
//
// The error tells of holds that could not be released: their locks end with their
// leases.
func (c *Client) Close(ctx context.Context) error { return c.locks.Close(ctx) }

// Stats is a snapshot of what a client does. Totals count from its start.
type Stats struct {
	Holds          int   // locks held now, counted once for each owner
	Waiters        int   // goroutines that wait now
	Subscriptions  int   // channels subscribed now
	Renewals       int64 // leases extended, in total
	LateRenewals   int64 // of these, after half of the lease had gone
	FailedRenewals int64 // attempts that got no answer, one for each lease
	Losses         int64 // locks lost, in total, counted in the same way
	Rescued        int64 // locks that a watchdog kept through a pause of this process, in total
	Watchdogs      int   // alive when last heard of, once something was protected
}

// Stats returns a snapshot. It does not touch Redis.
func (c *Client) Stats() Stats { return Stats(c.locks.Stats()) }
