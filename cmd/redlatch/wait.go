package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
)

func newWait() *cobra.Command {
	var s server
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a lock is free, without taking it",
		Long: `wait waits until the lock NAME is free. It does not take it: a moment later
somebody else may have it. It looks about twice a second, so it may miss a lock
that is free for less than that.

Exit code: 0 when it is free, 1 if the time is up, 2 for a wrong command line, 70
if Redis failed, 128+n if signal n came.`,
		Args:              oneName,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return exit(exitUsage, "--timeout %v: it is negative", timeout)
			}
			signals, stop := listen()
			defer stop()
			ctx, stopListening := untilSignal(cmd.Context(), signals)
			err := waitUntilFree(ctx, s, args[0], timeout)
			if interrupted := stopListening(); interrupted != nil {
				return interrupted
			}
			return err
		},
	}
	s.register(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long (default: never)")
	return cmd
}

func waitUntilFree(ctx context.Context, s server, name string, timeout time.Duration) error {
	client, err := s.connect(ctx, redlatch.Config{})
	if err != nil {
		return err
	}
	defer closeClient(client)
	began := time.Now()
	for {
		status, err := readStatus(ctx, client, name)
		switch {
		case err != nil:
			return failed(err)
		case !status.Locked:
			return nil
		}
		pause := untilNext(status.TTL)
		if timeout > 0 {
			remaining := timeout - time.Since(began)
			if remaining <= 0 {
				return exit(exitHeld, "lock %q is still %s, after %v", name, describe(status), timeout)
			}
			pause = min(pause, remaining)
		}
		sleep(ctx, pause)
	}
}

// The times between two requests: short enough for a script, and long enough for a
// hundred scripts.
const (
	longInterval  = 500 * time.Millisecond
	shortInterval = 50 * time.Millisecond
)

// untilNext is the time to the next request for a lock with this much time to live. It
// varies, so that waiting processes do not ask all at once.
func untilNext(ttl time.Duration) time.Duration {
	pause := longInterval - rand.N(longInterval/5)
	if ttl >= 0 {
		pause = min(pause, max(ttl+time.Millisecond, shortInterval))
	}
	return pause
}

// sleep waits for a pause, or for the end of ctx.
func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
