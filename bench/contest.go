package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// contend lets the workers of this process contend for one lock until the moment given.
// Whoever waits then may go on for a while, so that the tail is seen.
func contend(ctx context.Context, c contestant, o order, until time.Time) ([]hold, error) {
	ctx, cancel := context.WithDeadline(ctx, until.Add(patience))
	defer cancel()
	var mu sync.Mutex
	var all []hold
	var first error
	var done sync.WaitGroup
	for i := range o.Workers {
		w := c.Worker(o.Name)
		done.Go(func() {
			holds, err := holdUntil(ctx, w, seat{o.Process, i}, o.Section, until)
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

// workFor is how long the lock is held each time at least. It is short beside any round trip,
// and long enough that two who hold the lock at once are found out among thousands.
const workFor = 200 * time.Nanosecond

func holdUntil(ctx context.Context, w worker, me seat, section time.Duration, until time.Time) ([]hold, error) {
	holds := make([]hold, 0, 1<<14) // growing would stop the worker inside the lock's line
	for {
		asked := time.Now()
		if !asked.Before(until) {
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
		if section >= time.Millisecond { // a shorter sleep takes as long
			time.Sleep(time.Until(granted.Add(section)))
		}
		given := granted
		for given.Sub(granted) < max(section, workFor) {
			given = time.Now()
		}
		// The end of the race ends a wait, and no release.
		if err := w.Unlock(context.WithoutCancel(ctx)); err != nil {
			return holds, fmt.Errorf("unlock: %w", err)
		}
		holds = append(holds, hold{me.process, me.worker, asked.UnixNano(), granted.UnixNano(), given.UnixNano(), false})
	}
}
