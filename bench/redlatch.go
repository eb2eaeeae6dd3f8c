package main

import (
	"context"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// redlatch itself, with its default settings, and the ways to lock that it has.

// way is one of these ways: it makes a worker for a name.
type way func(c *redlatch.Client, name string) (worker, error)

// ours opens a client whose workers lock in one way. The timeout of its commands is the default if
// it is 0. An address with a comma is that of a Cluster.
func ours(timeout time.Duration, way way) opener {
	return configured(redlatch.Config{CommandTimeout: timeout, ReleaseTimeout: timeout}, way)
}

func configured(config redlatch.Config, way way) opener {
	return func(ctx context.Context, address string, wire *wire) (client, error) {
		if strings.Contains(address, ",") {
			c, err := redlatch.Open(ctx, "redis+cluster://"+address, config)
			if err != nil {
				return client{}, err
			}
			return ourClient(c, func() {}, way), nil
		}
		d, err := rueidis.Open(ctx, rueidis.Options{Address: address, Dial: wire.Dial, CommandTimeout: config.CommandTimeout})
		if err != nil {
			return client{}, err
		}
		return newClient(d, d.Close, config, way)
	}
}

// openOnGoRedis is a kept mutex on a client of go-redis with its default settings.
func openOnGoRedis(ctx context.Context, address string, wire *wire) (client, error) {
	application, err := dialGoRedis(ctx, address, wire)
	if err != nil {
		return client{}, err
	}
	d, err := goredis.New(application)
	if err != nil {
		application.Close()
		return client{}, err
	}
	return newClient(d, func() { d.Close(); application.Close() }, redlatch.Config{}, keeps)
}

func newClient(d driver.Driver, below func(), config redlatch.Config, way way) (client, error) {
	c, err := redlatch.New(d, config)
	if err != nil {
		below()
		return client{}, err
	}
	return ourClient(c, below, way), nil
}

// ourClient is a client of redlatch. Below is what its end does not close.
func ourClient(c *redlatch.Client, below func(), way way) client {
	return client{
		worker:  func(name string) (worker, error) { return way(c, name) },
		close:   func() { _ = c.Close(context.Background()); below() },
		waiters: func() int { return c.Stats().Waiters },
	}
}

// holds is a worker that locks by a function.
func holds(lock func(ctx context.Context) (*redlatch.Hold, error)) worker {
	var hold *redlatch.Hold
	return worker{
		lock: func(ctx context.Context) (err error) {
			hold, err = lock(ctx)
			return err
		},
		unlock: func(ctx context.Context) error { return hold.Unlock(ctx) },
	}
}

// keeps makes its Mutex once.
func keeps(c *redlatch.Client, name string) (worker, error) {
	m := c.Mutex(name)
	return holds(func(ctx context.Context) (*redlatch.Hold, error) { return m.Lock(ctx) }), nil
}

// makes makes its Mutex each time.
func makes(c *redlatch.Client, name string) (worker, error) {
	return holds(func(ctx context.Context) (*redlatch.Hold, error) { return c.Mutex(name).Lock(ctx) }), nil
}

// stay is for how long a lock stays with a cohort.
const stay = 20 * time.Millisecond

// inCohort passes its Mutex on in memory.
func inCohort(c *redlatch.Client, name string) (worker, error) {
	m, cohort := c.Mutex(name), redlatch.WithCohort(stay)
	return holds(func(ctx context.Context) (*redlatch.Hold, error) { return m.Lock(ctx, cohort) }), nil
}

// isFair queues in Redis.
func isFair(c *redlatch.Client, name string) (worker, error) {
	m := c.FairMutex(name)
	return holds(func(ctx context.Context) (*redlatch.Hold, error) { return m.Lock(ctx) }), nil
}

const readsPerWrite = 99

// reads takes the read side of a read-write lock, and now and then the write side.
func reads(cohort bool) way {
	var options []redlatch.LockOption
	if cohort {
		options = append(options, redlatch.WithCohort(stay))
	}
	return func(c *redlatch.Client, name string) (worker, error) {
		m, reads := c.RWMutex(name), 0
		return holds(func(ctx context.Context) (*redlatch.Hold, error) {
			if reads == readsPerWrite {
				reads = 0
				return m.Lock(ctx)
			}
			reads++
			return m.RLock(ctx, options...)
		}), nil
	}
}

// takesPermit takes the only permit of a semaphore.
func takesPermit(c *redlatch.Client, name string) (worker, error) {
	s := c.PermitSemaphore(name)
	_, err := s.TrySetPermits(context.Background(), 1)
	return holds(func(ctx context.Context) (*redlatch.Hold, error) { return s.Acquire(ctx) }), err
}

// takesFromSemaphore takes the only permit of a semaphore without owners.
func takesFromSemaphore(c *redlatch.Client, name string) (worker, error) {
	s := c.Semaphore(name)
	_, err := s.TrySetPermits(context.Background(), 1)
	return worker{
		lock:   func(ctx context.Context) error { return s.Acquire(ctx, 1) },
		unlock: func(ctx context.Context) error { return s.Release(ctx, 1) },
	}, err
}
