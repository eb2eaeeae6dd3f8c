package main

import (
	"context"
	"errors"
	"math"
	"net"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// The libraries of others, each with its default settings or with those of its documentation.

// openRueidislock has the settings of its documentation for one server of version 7.0.5 or later.
func openRueidislock(_ context.Context, address string, wire *wire) (client, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{address}, DialCtxFn: wire.dialRueidis(address)},
		KeyMajority:    1,
		NoLoopTracking: true,
	})
	if err != nil {
		return client{}, err
	}
	return client{close: locker.Close, worker: func(name string) (worker, error) {
		var cancel context.CancelFunc
		return worker{
			lock: func(ctx context.Context) (err error) {
				_, cancel, err = locker.WithContext(ctx, name)
				return err
			},
			// cancel returns when the server has answered.
			unlock: func(context.Context) error {
				cancel()
				return nil
			},
		}, nil
	}}, nil
}

// openRedislock has the lease of redlatch. Its waiters ask every 100 ms, as its documentation shows.
func openRedislock(connect goRedis) opener {
	const lease = 30 * time.Second
	return func(ctx context.Context, address string, wire *wire) (client, error) {
		redis, err := connect(ctx, address, wire)
		if err != nil {
			return client{}, err
		}
		locker := redislock.New(redis)
		return client{close: func() { redis.Close() }, worker: func(name string) (worker, error) {
			var lock *redislock.Lock
			options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
			return worker{
				lock: func(ctx context.Context) (err error) {
					lock, err = locker.Obtain(ctx, name, lease, options)
					return err
				},
				unlock: func(ctx context.Context) error { return lock.Release(ctx) },
			}, nil
		}}, nil
	}
}

// openRedsync has one pool and its default settings, except that it does not give up after 32 tries:
// a lock that is not taken would count for nothing.
func openRedsync(connect goRedis) opener {
	return func(ctx context.Context, address string, wire *wire) (client, error) {
		redis, err := connect(ctx, address, wire)
		if err != nil {
			return client{}, err
		}
		sync := redsync.New(goredis.NewPool(redis))
		return client{close: func() { redis.Close() }, worker: func(name string) (worker, error) {
			mutex := sync.NewMutex(name, redsync.WithTries(math.MaxInt))
			return worker{
				lock: mutex.LockContext,
				unlock: func(ctx context.Context) error {
					held, err := mutex.UnlockContext(ctx)
					if err == nil && !held {
						err = errors.New("redsync: the lock was not held at its release")
					}
					return err
				},
			}, nil
		}}, nil
	}
}

// goRedis is a way to use go-redis, which two of the libraries are made for.
type goRedis func(ctx context.Context, address string, wire *wire) (redis.UniversalClient, error)

// plain is go-redis with its default settings: a pool, and a connection for each command.
func plain(ctx context.Context, address string, wire *wire) (redis.UniversalClient, error) {
	return dialGoRedis(ctx, address, wire)
}

// pipelined is go-redis with its automatic pipelining, which is experimental and has to be asked for.
func pipelined(ctx context.Context, address string, wire *wire) (redis.UniversalClient, error) {
	client, err := dialGoRedis(ctx, address, wire)
	if err != nil {
		return nil, err
	}
	batches, err := client.AutoPipeline()
	if err != nil {
		client.Close()
		return nil, err
	}
	return &pipelinedClient{batches, client}, nil
}

// pipelinedClient also closes the client below.
type pipelinedClient struct {
	*redis.AutoPipeliner
	client *redis.Client
}

// Close ends the pipelining and the connections.
func (c *pipelinedClient) Close() error {
	_ = c.AutoPipeliner.Close()
	return c.client.Close()
}

func dialGoRedis(ctx context.Context, address string, wire *wire) (*redis.Client, error) {
	client := redis.NewClient(&redis.Options{
		Addr:   address,
		Dialer: func(ctx context.Context, _, address string) (net.Conn, error) { return wire.Dial(ctx, address) },
	})
	if err := client.Ping(ctx).Err(); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}
