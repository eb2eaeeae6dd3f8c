package main

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redsyncContestant has one pool and its default settings, except that it does not
// give up after 32 tries: a lock that is not taken would count for nothing.
type redsyncContestant struct {
	client redis.UniversalClient
	sync   *redsync.Redsync
}

func openRedsync(connect goRedis) func(context.Context, string, *wire) (contestant, error) {
	return func(ctx context.Context, address string, wire *wire) (contestant, error) {
		client, err := connect(ctx, address, wire)
		if err != nil {
			return nil, err
		}
		return &redsyncContestant{client, redsync.New(goredis.NewPool(client))}, nil
	}
}

// Worker returns a worker on a mutex of its own.
func (c *redsyncContestant) Worker(name string) worker {
	return &redsyncWorker{c.sync.NewMutex(name, redsync.WithTries(math.MaxInt))}
}

// Close ends the connections.
func (c *redsyncContestant) Close() { c.client.Close() }

type redsyncWorker struct {
	mutex *redsync.Mutex
}

// Lock waits for the mutex.
func (w *redsyncWorker) Lock(ctx context.Context) error { return w.mutex.LockContext(ctx) }

// Extend is for the user to call.
func (w *redsyncWorker) Extend(ctx context.Context) error {
	_, err := w.mutex.ExtendContext(ctx)
	return err
}

// Unlock gives it back.
func (w *redsyncWorker) Unlock(ctx context.Context) error {
	held, err := w.mutex.UnlockContext(ctx)
	if err == nil && !held {
		err = errors.New("redsync: the lock was not held at its release")
	}
	return err
}
