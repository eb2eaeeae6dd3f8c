package main

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// redlatchContestant is a client with its default settings.
type redlatchContestant struct {
	driver driver.Driver
	client *redlatch.Client
	below  func() // ends what the driver does not; may be nil
}

func openRedlatch(ctx context.Context, address string, wire *wire) (*redlatchContestant, error) {
	d, err := rueidis.Open(ctx, rueidis.Options{Address: address, Dial: wire.Dial})
	if err != nil {
		return nil, err
	}
	return newRedlatch(d, nil)
}

// openOnGoRedis measures the mutexes of openKept on a client of go-redis with its default settings.
func openOnGoRedis(ctx context.Context, address string, wire *wire) (contestant, error) {
	application, err := dialGoRedis(ctx, address, wire)
	if err != nil {
		return nil, err
	}
	d, err := goredis.New(application)
	if err != nil {
		application.Close()
		return nil, err
	}
	return newRedlatch(d, func() { application.Close() })
}

func newRedlatch(d driver.Driver, below func()) (*redlatchContestant, error) {
	c := &redlatchContestant{driver: d, below: below}
	var err error
	if c.client, err = redlatch.New(d, redlatch.Config{}); err != nil {
		c.closeDriver()
		return nil, err
	}
	return c, nil
}

// openKept measures mutexes that are made once.
func openKept(ctx context.Context, address string, wire *wire) (contestant, error) {
	return openRedlatch(ctx, address, wire)
}

// openMade measures mutexes that are made for each acquisition.
func openMade(ctx context.Context, address string, wire *wire) (contestant, error) {
	c, err := openRedlatch(ctx, address, wire)
	return &makingContestant{c}, err
}

// openRequest measures acquisitions below a context that can end.
func openRequest(ctx context.Context, address string, wire *wire) (contestant, error) {
	c, err := openRedlatch(ctx, address, wire)
	return &requestContestant{c}, err
}

// Worker returns a worker on a Mutex of its own.
func (c *redlatchContestant) Worker(name string) worker {
	return &mutexWorker{mutex: c.client.Mutex(name)}
}

// Close ends the client and its connections.
func (c *redlatchContestant) Close() {
	_ = c.client.Close(context.Background())
	c.closeDriver()
}

func (c *redlatchContestant) closeDriver() {
	c.driver.Close()
	if c.below != nil {
		c.below()
	}
}

// stay is for how long a lock stays with a cohort.
const stay = 20 * time.Millisecond

type cohortContestant struct {
	*redlatchContestant
}

// openCohort measures mutexes that goroutines pass on in memory.
func openCohort(ctx context.Context, address string, wire *wire) (contestant, error) {
	c, err := openRedlatch(ctx, address, wire)
	return &cohortContestant{c}, err
}

// Worker returns a worker of a cohort.
func (c *cohortContestant) Worker(name string) worker {
	return &mutexWorker{mutex: c.client.Mutex(name), options: []redlatch.LockOption{redlatch.WithCohort(stay)}}
}

type mutexWorker struct {
	mutex   *redlatch.Mutex
	options []redlatch.LockOption
	hold    *redlatch.Hold
}

// Lock waits for the mutex.
func (w *mutexWorker) Lock(ctx context.Context) (err error) {
	w.hold, err = w.mutex.Lock(ctx, w.options...)
	return err
}

// Unlock gives it back.
func (w *mutexWorker) Unlock(ctx context.Context) error { return w.hold.Unlock(ctx) }

type makingContestant struct {
	*redlatchContestant
}

// Worker returns a worker that makes its Mutex each time.
func (c *makingContestant) Worker(name string) worker {
	return &makingWorker{client: c.client, name: name}
}

type makingWorker struct {
	client *redlatch.Client
	name   string
	hold   *redlatch.Hold
}

// Lock makes a Mutex and waits for it.
func (w *makingWorker) Lock(ctx context.Context) (err error) {
	w.hold, err = w.client.Mutex(w.name).Lock(ctx)
	return err
}

// Unlock gives it back.
func (w *makingWorker) Unlock(ctx context.Context) error { return w.hold.Unlock(ctx) }
