package main

import (
	"context"
	"net"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// redislockContestant uses go-redis with its default settings, and the lease of
// redlatch. Its waiters ask every 100 ms, as its documentation shows.
type redislockContestant struct {
	client *redis.Client
	locker *redislock.Client
}

func openRedislock(ctx context.Context, address string, wire *wire) (contestant, error) {
	client, err := goRedis(ctx, address, wire)
	if err != nil {
		return nil, err
	}
	return &redislockContestant{client, redislock.New(client)}, nil
}

// goRedis connects with the default settings.
func goRedis(ctx context.Context, address string, wire *wire) (*redis.Client, error) {
	client := redis.NewClient(&redis.Options{
		Addr: address,
		Dialer: func(ctx context.Context, _, address string) (net.Conn, error) {
			return wire.Dial(ctx, address)
		},
	})
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
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
	w.lock, err = w.locker.Obtain(ctx, w.name, 30*time.Second, w.options)
	return err
}

// Unlock gives it back.
func (w *redislockWorker) Unlock(ctx context.Context) error { return w.lock.Release(ctx) }
