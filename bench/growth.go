package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
)

// What one operation takes of Redis, by how many holds, readers and locks there are.

const (
	figureReader  = "a reader enters and leaves"
	figureRenewal = "renewal of one of so many holds"
	figureListed  = "one of so many locks is listed"

	// growthSteps is how many readers enter and leave.
	growthSteps = 2000
)

// growth is one client with ever more holds, and another one that looks at them.
func (b *bench) growth() contest {
	c := contest{
		name: "growth", part: "scale", extra: true, rounds: 1,
		title:   "What one operation takes of Redis, µs, by how many holds there are",
		columns: columns("%.1f", figureReader, figureRenewal, figureListed),
	}
	for n := 1; n <= b.plan.size(manyHolds); n *= 10 {
		c.rows = append(c.rows, row{name: fmt.Sprint(n), slice: func(ctx context.Context, _ int) (figures, error) { return b.grow(ctx, n) }})
	}
	return c
}

// grow measures with so many holds.
func (b *bench) grow(ctx context.Context, n int) (f figures, err error) {
	c, err := redlatch.Open(ctx, "redis://"+b.server.address, redlatch.Config{CommandTimeout: scaleTimeout})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	f, m, own := figures{}, c.RWMutex(freshName("read")), freshName("own")
	take := func(lock func(i int) (*redlatch.Hold, error)) error {
		return inParallel(n, func(i int) error { _, err := lock(i); return err })
	}
	if err := take(func(int) (*redlatch.Hold, error) { return m.RLock(ctx) }); err != nil {
		return nil, err
	}
	err = b.spent(ctx, f, figureReader, countCPU, growthSteps, func() error {
		for range growthSteps {
			h, err := m.RLock(ctx)
			if err == nil {
				err = h.Unlock(ctx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := c.Close(ctx); err != nil { // the readers leave
		return nil, err
	}
	if c, err = redlatch.Open(ctx, "redis://"+b.server.address, redlatch.Config{CommandTimeout: scaleTimeout}); err != nil {
		return nil, err
	}
	if err := take(func(i int) (*redlatch.Hold, error) { return c.Mutex(fmt.Sprint(own, i)).Lock(ctx) }); err != nil {
		return nil, err
	}
	err = b.spent(ctx, f, figureRenewal, countScriptTime, n, func() error { return until(ctx, time.Now().Add(renewed)) })
	if err != nil {
		return nil, err
	}
	eyes, err := inspect.New(c.Driver(), inspect.Config{Rate: 1_000_000})
	if err != nil {
		return nil, err
	}
	return f, b.spent(ctx, f, figureListed, countCPU, n, func() error {
		seen := 0
		for _, err := range eyes.Locks(ctx, own+"*") {
			if err != nil {
				return err
			}
			seen++
		}
		if seen != n {
			return fmt.Errorf("%d of %d locks are listed", seen, n)
		}
		return nil
	})
}

// spent notes what the server spends on each of so many operations.
func (b *bench) spent(ctx context.Context, f figures, figure, count string, n int, do func() error) error {
	before, err := b.server.meter.work(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := b.server.meter.work(ctx)
	f[figure] = after.minus(before)[count] / float64(n)
	return err
}
