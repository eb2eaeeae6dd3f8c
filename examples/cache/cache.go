package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// cache is a value in Redis, which expires when it is stale.
type cache struct {
	lock  *redlatch.RWMutex
	redis driver.Driver
	load  func(context.Context) (string, error)
}

// read returns the value. If it is stale, one process refreshes it, and the others wait for that one.
func (c *cache) read(ctx context.Context) (string, error) {
	value, err := redlatch.DoValue(ctx, c.lock.RLocker(), c.stored)
	if value != "" || err != nil {
		return value, err
	}
	// The read side is released by now: to ask for the write side while holding it would wait for
	// oneself, and is refused (redlatch.ErrUpgrade).
	return redlatch.DoValue(ctx, c.lock, func(ctx context.Context, hold *redlatch.Hold) (string, error) {
		if value, err := c.stored(ctx, hold); value != "" || err != nil {
			return value, err // another one has refreshed it meanwhile
		}
		value, err := c.load(ctx)
		if err != nil {
			return "", err
		}
		if !hold.Valid() { // right before the effect
			return "", fmt.Errorf("refresh: %w", redlatch.ErrLost)
		}
		return value, c.store(ctx, value)
	})
}

// stored reads the value from Redis, "" if it is stale, while the lock is held.
func (c *cache) stored(ctx context.Context, _ *redlatch.Hold) (string, error) {
	reply := c.redis.Do(ctx, driver.Command{Words: []string{"GET", "rates"}, Key: "rates"})
	return reply.Str, reply.Err
}

// store writes it, with its time to live.
func (c *cache) store(ctx context.Context, value string) error {
	millis := strconv.FormatInt(fresh.Milliseconds(), 10)
	return c.redis.Do(ctx, driver.Command{Words: []string{"SET", "rates", value, "PX", millis}, Key: "rates"}).Err
}
