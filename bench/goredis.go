package main

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
)

// goRedis is a way to use go-redis, which two of the rivals are made for.
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
