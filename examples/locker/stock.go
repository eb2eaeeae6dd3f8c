package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
)

var (
	errNoStock = errors.New("no such item in stock")
	errSoldOut = errors.New("sold out")
)

// stock is the number of units of each item, a plain number in Redis. It does not prevent
// concurrent sales: its caller does, by a lock, or forgets to.
type stock struct {
	redis driver.Driver
	delay time.Duration // between reading and writing, for example to compute the price
}

// take sells one unit: it reads, works and writes. A concurrent call reads the same number,
// and one of the two sales is lost. It writes nothing after ctx has ended.
func (s *stock) take(ctx context.Context, key string) (left int, err error) {
	units, err := s.units(ctx, key)
	if err != nil {
		return 0, err
	}
	if units == 0 {
		return 0, errSoldOut
	}
	if err := work(ctx, s.delay); err != nil {
		return 0, err
	}
	return units - 1, s.put(ctx, key, units-1)
}

func (s *stock) units(ctx context.Context, key string) (int, error) {
	reply := s.redis.Do(ctx, driver.Command{Words: []string{"GET", key}, Key: key})
	switch {
	case reply.Err != nil:
		return 0, fmt.Errorf("read the stock: %w", reply.Err)
	case reply.IsNil:
		return 0, errNoStock
	}
	return strconv.Atoi(reply.Str)
}

func (s *stock) put(ctx context.Context, key string, units int) error {
	reply := s.redis.Do(ctx, driver.Command{Words: []string{"SET", key, strconv.Itoa(units)}, Key: key})
	if reply.Err != nil {
		return fmt.Errorf("write the stock: %w", reply.Err)
	}
	return nil
}
