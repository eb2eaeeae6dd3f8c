package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

// work is one process of the pool. It works until its stdin ends.
func work(ctx context.Context, url string, in io.Reader, out io.Writer) error {
	client, err := redlatch.Open(ctx, url, redlatch.Config{LeaseTime: lease})
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))
	slots := client.PermitSemaphore(pool)
	if _, err := slots.TrySetPermits(ctx, permits); err != nil { // the first process makes them
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop()
	}()
	failed := make(chan error, workers)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := doOneJob(ctx, slots, out); err != nil && ctx.Err() == nil {
					failed <- err
					stop()
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}

// doOneJob waits for a permit, and works under it. It prints "takes PERMIT", and "did PERMIT FROM UNTIL".
func doOneJob(ctx context.Context, slots *redlatch.PermitSemaphore, out io.Writer) error {
	permit, err := slots.Acquire(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	fmt.Fprintln(out, "takes", permit.Owner())
	select {
	case <-time.After(time.Duration(50+rand.IntN(100)) * time.Millisecond): // a real worker works here
		fmt.Fprintln(out, "did", permit.Owner(), began.UnixNano(), time.Now().UnixNano())
	case <-permit.Context().Done(): // the permit is lost, or the process is to end: the job is cut short
	}
	if err := permit.Unlock(ctx); !errors.Is(err, redlatch.ErrLost) {
		return err
	}
	return nil // others may have the permit now, and this worker waits for another one
}
