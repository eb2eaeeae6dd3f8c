package main

import (
	"context"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// redlatchContestant is a client with its default settings.
type redlatchContestant struct {
	driver *rueidis.Driver
	client *redlatch.Client
}

func openRedlatch(ctx context.Context, address string, wire *wire) (*redlatchContestant, error) {
	d, err := rueidis.Open(ctx, rueidis.Options{Address: address, Dial: wire.Dial})
	if err != nil {
		return nil, err
	}
	client, err := redlatch.New(d, redlatch.Config{})
	if err != nil {
		d.Close()
		return nil, err
	}
	return &redlatchContestant{driver: d, client: client}, nil
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
	c.driver.Close()
}

type mutexWorker struct {
	mutex *redlatch.Mutex
	hold  *redlatch.Hold
}

// Lock waits for the mutex.
func (w *mutexWorker) Lock(ctx context.Context) (err error) {
	w.hold, err = w.mutex.Lock(ctx)
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
