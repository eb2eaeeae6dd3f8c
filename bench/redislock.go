package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockContestant has the lease of redlatch. Its waiters ask every 100 ms, as its documentation
// shows.
type redislockContestant struct {
	client redis.UniversalClient
	locker *redislock.Client
}

const redislockLease = 30 * time.Second

func openRedislock(connect goRedis) func(context.Context, string, *wire) (contestant, error) {
	return func(ctx context.Context, address string, wire *wire) (contestant, error) {
		client, err := connect(ctx, address, wire)
		if err != nil {
			return nil, err
		}
		return &redislockContestant{client, redislock.New(client)}, nil
	}
}

// Worker returns a worker for name.
func (c *redislockContestant) Worker(name string) worker {
	return &redislockWorker{
		locker:  c.locker,
		name:    name,
		options: &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)},
	}
}

// Close ends the connections.
func (c *redislockContestant) Close() { c.client.Close() }

type redislockWorker struct {
	locker  *redislock.Client
	name    string
	options *redislock.Options
	lock    *redislock.Lock
}

// Lock waits for the lock.
func (w *redislockWorker) Lock(ctx context.Context) (err error) {
	w.lock, err = w.locker.Obtain(ctx, w.name, redislockLease, w.options)
	return err
}

// Extend is for the user to call.
func (w *redislockWorker) Extend(ctx context.Context) error {
	return w.lock.Refresh(ctx, redislockLease, nil)
}

// Unlock gives it back.
func (w *redislockWorker) Unlock(ctx context.Context) error { return w.lock.Release(ctx) }
