package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// contend lets n workers of this process fight for one lock until the moment given.
// Whoever waits then may go on for a while, so that its wait is counted whole.
func contend(ctx context.Context, c contestant, name string, process, n int, until time.Time) ([]hold, error) {
	ctx, cancel := context.WithDeadline(ctx, until.Add(patience))
	defer cancel()
	var mu sync.Mutex
	var all []hold
	var first error
	var done sync.WaitGroup
	for i := range n {
		w := c.Worker(name)
		done.Go(func() {
			holds, err := holdUntil(ctx, w, seat{process, i}, until)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, holds...)
			if first == nil {
				first = err
			}
		})
	}
	done.Wait()
	return all, first
}

// patience is for how long a worker may outlast its slice. Nobody contends any more
// by then: who is not served within this time is not on the way to be.
const patience = time.Second

// workFor is how long the lock is held each time. It is short beside any round trip,
// and long enough that two who hold the lock at once are found out among thousands.
const workFor = 2 * time.Microsecond

func holdUntil(ctx context.Context, w worker, me seat, until time.Time) ([]hold, error) {
	holds := make([]hold, 0, 1<<14) // growing would stop the worker inside the lock's line
	for {
		asked := time.Now()
		if asked.After(until) {
			return holds, nil
		}
		err := w.Lock(ctx)
		if err != nil && ctx.Err() != nil {
			now := time.Now().UnixNano()
			return append(holds, hold{me.process, me.worker, asked.UnixNano(), now, now, true}), nil
		}
		if err != nil {
			return holds, fmt.Errorf("lock: %w", err)
		}
		granted := time.Now()
		given := granted
		for given.Sub(granted) < workFor {
			given = time.Now()
		}
		if err := w.Unlock(ctx); err != nil {
			return holds, fmt.Errorf("unlock: %w", err)
		}
		holds = append(holds, hold{me.process, me.worker, asked.UnixNano(), granted.UnixNano(), given.UnixNano(), false})
	}
}
