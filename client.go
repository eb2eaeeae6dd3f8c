package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/multilock"
)

// Client makes locks on one Redis deployment and renews its holds. For any number of locks
// it uses one connection for commands, one for Pub/Sub while anyone waits, and one for
// liveness if Config.Protect is set. With driver/goredis, commands use the pool of the go-redis
// client instead. It is safe for concurrent use.
type Client struct {
	locks  *lock.Manager
	server *multilock.Server

	counters *counter.Counters
	cohorts  cohort.Set
}

// New returns a client that uses the caller's driver d. Closing the client does not
// close d. New sends nothing, so the connections of d keep their name in CLIENT LIST. The error is
// a *ConfigError.
func New(d driver.Driver, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := lockerr.Missing("driver", d); err != nil {
		return nil, err
	}
	return newClient(cfg.settings("", d), "", 0, cfg.RestartDelay), nil
}

// newClient makes a client on the server of that address, by which a Multi and a Quorum tell
// servers apart.
func newClient(settings lock.Settings, address string, database int, restartDelay time.Duration) *Client {
	locks := lock.New(settings)
	_, embedded := settings.Driver.(driver.Embedded)
	return &Client{locks: locks, counters: counter.New(locks, settings.CommandTimeout+settings.ReleaseTimeout), server: &multilock.Server{
		Locks: locks, Driver: settings.Driver, Address: address, Database: database,
		Restart: multilock.Restart{Delay: restartDelay, Never: embedded, Timeout: settings.CommandTimeout},
	}}
}

// ID is the client's UUID, the first half of every owner that it makes.
func (c *Client) ID() string { return c.locks.ID }

// Driver returns the client's driver, so that fence.Redis, a watchdog.Watchdog or another
// client can share it. If Open made the driver, it is closed with the client.
func (c *Client) Driver() driver.Driver { return c.server.Driver }

// WithOwner returns a context with an owner of its own. Every acquisition by this client below
// that context has this owner. So Lock inside Lock re-enters, and raises the count in Redis.
// The context takes the place of the thread in Java. Goroutines that must exclude each other
// need an owner each. The owner has a new number in Redis (Hold.Owner) each time that it
// takes a lock of which it holds nothing.
func (c *Client) WithOwner(ctx context.Context) context.Context { return c.locks.WithOwner(ctx) }

// Attach makes a hold of a ticket (Hold.Ticket). Redis gives the lock to a new owner, of this client, in one step. So
// of all who attach one ticket, one gets a hold, and the others get ErrLost. The hold has the fencing token of the
// ticket, if there is one. It is renewed with Config.LeaseTime, and ends after Config.MaxHold, whatever the options of the
// former one were. It is not of the owner of a context of WithOwner.
//
// Attach blocks for one round trip, bounded by ctx and Config.CommandTimeout. It does not wait for anybody.
//
// Errors:
//
//   - ErrLost: the lock is not held by the owner that the ticket names. The lease was over, another has attached, or it is
//     another server.
//   - ErrNotAcquired, joined with ctx's error if that ended it. Another owner of this client holds the lock, or
//     there was no time. The ticket is as good as before.
//   - ErrUnknownOutcome: the ticket may be used up. The lock is then free when its TTL ends.
//   - *ConfigError: it is no ticket, or a part of one. The error does not contain it.
//   - ErrWrongType, ErrInvalidName, ErrClosed, errors of the network and the server.
func (c *Client) Attach(ctx context.Context, ticket string) (*Hold, error) {
	h, err := c.locks.Attach(ctx, ticket)
	return (*Hold)(h), err
}

// ExtendTicket lets the lock of a ticket last for d from now, and makes no hold of it. Zero is the lease of the hold that
// the ticket was made of. It never shortens a TTL. The ticket can still be attached. The errors are those of Attach.
func (c *Client) ExtendTicket(ctx context.Context, ticket string, d time.Duration) error {
	if d != 0 {
		if err := inRange("ExtendTicket", d, minLease, longest); err != nil {
			return err
		}
	}
	return c.locks.ExtendTicket(ctx, ticket, d)
}

// Shutdown refuses new acquisitions and ends every wait, both with ErrClosed. Status, ForceUnlock
// and re-entries (WithOwner) are refused as well. Holds are renewed as before until they are
// released. Semaphore.Release and Latch.CountDown work as before. The permits of a Semaphore that this client
// has acquired and not released count as held. Shutdown does what Close does when the last hold has been released, or ctx has ended.
// So it blocks until ctx ends at the latest, and then for as long as Close takes. Shutdown cancels
// no context: tell your work to end.
//
// The error says how many locks and permits were still held when ctx ended, and matches the error of ctx. It
// also contains the error of Close.
func (c *Client) Shutdown(ctx context.Context) error { return c.locks.Shutdown(ctx) }

// Close releases every hold, ends every wait with ErrClosed, and ends every
// goroutine and connection of the client. It blocks until that is done or ctx has
// ended. If ctx ends first, the rest goes on in the background, and a further call
// waits for it. The client's own timeouts bound every part of it.
//
// The error says how many holds may not have been released, and names one of them. Their
// locks are free when their leases end.
func (c *Client) Close(ctx context.Context) error { return c.locks.Close(ctx) }

// Stats is a snapshot of what a client does. Totals count from its start.
type Stats struct {
	Holds          int   // locks held now, counted once for each owner
	Protected      int   // of these, those that a living watchdog renews while this process is paused
	Waiters        int   // goroutines that wait now
	Subscriptions  int   // channels subscribed now
	Renewals       int64 // leases extended, in total
	LateRenewals   int64 // of these, after half of the lease had gone
	FailedRenewals int64 // attempts that got no answer, one for each lease
	Losses         int64 // locks lost, in total, counted once for each owner
	Rescued        int64 // locks that a watchdog kept through a pause of this process, in total
	Watchdogs      int   // alive at the last heartbeat; 0 before the first protected hold
	Closed         bool  // Close has done its work: nothing of this changes any more
}

// Stats returns a snapshot. It does not touch Redis.
func (c *Client) Stats() Stats {
	m, counts := c.locks, c.locks.Engine().Counts()
	s := Stats{
		Holds:          m.Engine().Len(),
		Waiters:        m.Queues().Waiting() + c.cohorts.Waiting(),
		Subscriptions:  m.Queues().Subscribed(),
		Renewals:       counts.Renewals,
		LateRenewals:   counts.Late,
		FailedRenewals: counts.Failures,
		Losses:         m.Losses(),
		Rescued:        counts.Rescued,
	}
	s.Protected, s.Watchdogs = m.Protected()
	select {
	case <-m.Closed:
		s.Closed = true
	default:
	}
	return s
}

// OldestHolds is for how long the oldest hold of each kind has been held. A kind without holds is not in it. It does
// not touch Redis.
func (c *Client) OldestHolds() map[LockKind]time.Duration { return c.locks.OldestHolds() }
