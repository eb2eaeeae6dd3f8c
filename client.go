package redlatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Client makes locks on one Redis deployment and keeps what is held. For any number of locks
// it uses one connection for commands, one for Pub/Sub while anyone waits, and one for
// liveness if Config.Protect is set. It is safe for concurrent use.
type Client struct {
	id      string
	config  Config
	driver  driver.Driver
	sharded driver.Sharded // the driver, where it is one of a cluster
	owned   bool           // the driver is closed with the client
	server  string         // what Open connected to (target.identity); "" if that is no telling

	database int // on that server

	messages protocol.Messages

	runner   *script.Runner // for acquisitions and questions
	releases *script.Runner // for releases, with their own bound
	engine   *renew.Engine
	hub      *waitqueue.Hub
	heart    *heart
	session  *session.Session // nil without Config.Protect

	lastOwner atomic.Int64
	losses    atomic.Int64
	mute      sync.Once

	birth      atomic.Pointer[birth] // of the server, for a Quorum
	quorums    sync.Map              // of which it is part now, by *group
	gate       gate
	reporter   reporter
	background sync.WaitGroup // compensations
	closeOnce  sync.Once
	life       context.Context // ends when the client begins to close
	end        context.CancelFunc
	closed     chan struct{}
	closeErr   error // once closed is closed
}

// New returns a client on a connection of the caller's. Closing the client does not
// close d. It sends nothing. The error is a *ConfigError.
func New(d driver.Driver, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	messages := cfg.messages(d)
	c := &Client{
		messages: messages,
		id:       uuid.NewString(),
		config:   cfg,
		driver:   d,
		runner:   script.NewRunner(d, cfg.CommandTimeout),
		releases: script.NewRunner(d, cfg.ReleaseTimeout),
		hub:      waitqueue.NewHub(listen(d, messages), cfg.Logger),
		closed:   make(chan struct{}),
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.sharded, _ = d.(driver.Sharded)
	if cfg.Protect {
		c.session = session.New(session.Settings{
			Client: c.id, Listen: d.Listen, Runner: c.runner,
			Lease: cfg.LeaseTime, Timeout: cfg.CommandTimeout, Logger: cfg.Logger,
		})
	}
	c.engine = renew.Start(c.renew, c.guard())
	c.heart = newHeart(c)
	return c, nil
}

// guard is who renews the holds while this process is paused. What it does not renew in
// time is lost, so a pause that is shorter than a fourth of the lease is no matter: a sound
// hold has more than that left.
func (c *Client) guard() renew.Guard {
	if c.session == nil {
		return renew.Guard{}
	}
	return renew.Guard{Alive: c.session.Guarded, Gap: c.config.LeaseTime / 4, Bound: c.config.CommandTimeout}
}

// ID is the client's UUID, the first half of every owner that it makes.
func (c *Client) ID() string { return c.id }

// Close releases every hold, ends every wait with ErrClosed, and ends every
// goroutine and connection of the client. It blocks until that is done or ctx has
// ended; then it goes on by itself and a further call waits for it. Every part of it
// is bounded by the client's own timeouts.
//
// The error tells of holds that could not be released: their locks end with their
// leases.
func (c *Client) Close(ctx context.Context) error {
	c.closeOnce.Do(func() {
		c.end()
		empty := c.gate.close()
		go c.shut(empty)
	})
	select {
	case <-c.closed:
		return c.closeErr
	case <-ctx.Done():
		return fmt.Errorf("redlatch: close: still under way: %w", context.Cause(ctx))
	}
}

func (c *Client) shut(empty <-chan struct{}) {
	<-empty
	c.closeErr = c.releaseAll()
	c.engine.Stop()
	c.background.Wait()
	c.unprotect()
	c.hub.Stop()
	c.reporter.wait(c.config.ReleaseTimeout)
	if c.owned {
		c.driver.Close()
	}
	close(c.closed)
}

// unprotect ends the session. What is left of it in Redis when that fails, the watchdog
// removes, or it expires.
func (c *Client) unprotect() {
	if c.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.config.ReleaseTimeout)
	defer cancel()
	if err := c.session.Stop(ctx); err != nil {
		c.config.Logger.Warn("redlatch: close: the session stays until it expires", "client", c.id, "error", err)
	}
}

// releaseAll gives back everything that is held: many locks in one request, the servers of a
// cluster side by side. One that cannot be released costs the others nothing.
func (c *Client) releaseAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.config.ReleaseTimeout)
	defer cancel()
	var ended []*tenure
	for _, item := range c.engine.Items() {
		if t := item.Subject.(*tenure); t.close() {
			t.leave()
			ended = append(ended, t)
		}
	}
	calls := make([]script.Call, len(ended))
	for i, t := range ended {
		calls[i] = t.freeing()
	}
	var failed []error
	for i, result := range c.releases.RunEach(ctx, calls...) {
		if err := result.Reply.Err; err != nil {
			failed = append(failed, failure("unlock", ended[i].point.name, err))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("redlatch: close: up to %d locks stay until their leases end, among them: %w", len(failed), failed[0])
	}
	return nil
}

// ask runs a call that acquires nothing, and reads its reply.
func ask[T any](ctx context.Context, c *Client, p *point, verb string, call script.Call, read func(driver.Reply) (T, error)) (found T, err error) {
	replies, err := c.askAll(ctx, p, verb, call)
	if err != nil {
		return found, err
	}
	if found, err = read(replies[0].Reply); err != nil {
		return found, failure(verb, p.name, err)
	}
	return found, nil
}

// askAll runs several such calls in one request.
func (c *Client) askAll(ctx context.Context, p *point, verb string, calls ...script.Call) ([]script.Result, error) {
	if p.err != nil {
		return nil, p.err
	}
	if !c.gate.enter() {
		return nil, fmt.Errorf("redlatch: %s %q: %w", verb, p.name, ErrClosed)
	}
	defer c.gate.leave()
	results, err := c.runner.RunAll(ctx, calls...)
	if err != nil {
		return nil, failure(verb, p.name, err)
	}
	return results, nil
}

// force runs a call that frees the lock, whoever holds it.
func (c *Client) force(ctx context.Context, p *point, call script.Call) (bool, error) {
	return ask(ctx, c, p, "force unlock", call, script.ReadForced)
}

// forceFrom runs a call that frees the lock if owner holds it.
func (c *Client) forceFrom(ctx context.Context, p *point, owner string, call script.Call) (bool, error) {
	if owner == "" {
		return false, &ConfigError{Field: "owner", Reason: "it is empty; ForceUnlock frees a lock whoever holds it"}
	}
	return c.force(ctx, p, call)
}

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
func (c *Client) Stats() Stats {
	counts := c.engine.Counts()
	watchdogs := 0
	if c.session != nil {
		watchdogs = c.session.Watchdogs()
	}
	return Stats{
		Holds:          c.engine.Len(),
		Waiters:        c.hub.Waiting(),
		Subscriptions:  c.hub.Subscribed(),
		Renewals:       counts.Renewals,
		LateRenewals:   counts.Late,
		FailedRenewals: counts.Failures,
		Losses:         c.losses.Load(),
		Rescued:        counts.Rescued,
		Watchdogs:      watchdogs,
	}
}
