package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/pause"
)

// waitFlags are the flags of wait.
type waitFlags struct {
	server server
	wait   time.Duration
	quiet  bool
}

func newWait() *cobra.Command {
	var f waitFlags
	cmd := &cobra.Command{
		Use:   "wait NAME…",
		Short: "Wait until locks are free, without taking them",
		Long: `wait reads the locks NAME, one after the other, until all of them are free in
one round. It does not take them, so somebody else may take them a moment later.
wait reads about twice a second. It may miss a lock that is free for less than
that.

Exit code:
  0      the locks are free
  1      a lock is still held, and the wait is over
  2      the command line is wrong
  70     Redis failed, or a key is no lock
  128+n  signal n ended the wait`,
		Example: "  redlatch wait -w 10m nightly-report && ./deploy.sh",
		Args:    someNames,
		RunE: func(cmd *cobra.Command, names []string) error {
			if f.wait < 0 {
				return exit(exitUsage, "--wait %v: it is negative", f.wait)
			}
			p := &patience{limited: cmd.Flags().Changed("wait"), limit: f.wait, began: time.Now(), quiet: f.quiet}
			signals, stop := listen()
			defer stop()
			ctx, stopListening := untilSignal(cmd.Context(), signals)
			err := f.run(ctx, p, names)
			if interrupted := stopListening(); interrupted != nil {
				return interrupted
			}
			return err
		},
	}
	f.server.register(cmd)
	durationVar(cmd.Flags(), &f.wait, "wait", "w", 0, "wait at most this long, for the server and then for the locks (default: no limit for the locks, no wait for the server)")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print nothing about a lock that is held, or a wait for the server")
	return cmd
}

// run waits until all locks are free, or the patience is over.
func (f *waitFlags) run(ctx context.Context, p *patience, names []string) error {
	client, err := p.connect(ctx, &f.server, redlatch.Config{})
	if err != nil {
		return err
	}
	defer closeClient(client)
	defer p.tellOfWait(ctx, heldFirst(client, names...))()
	for {
		held, status, err := lookAt(ctx, client, names)
		switch {
		case err != nil && p.again(ctx, err):
			continue
		case err != nil || held == "":
			return err
		case p.over() && p.quiet:
			return &exitError{code: exitHeld}
		case p.over():
			return exit(exitHeld, "lock %q is still %s", held, describe(status))
		}
		next := untilNext(status.TTL)
		if p.limited {
			next = min(next, p.left())
		}
		_ = pause.For(ctx, next)
	}
}

// lookAt reads the status of each lock. It returns the first that is held, or "".
func lookAt(ctx context.Context, client *redlatch.Client, names []string) (held string, status redlatch.Status, err error) {
	for _, name := range names {
		one, err := readStatus(ctx, client, name)
		if err != nil {
			return "", status, failed(err)
		}
		if one.Locked && held == "" {
			held, status = name, one
		}
	}
	return held, status, nil
}

// heldFirst says how the first of several locks that is held is held, "" if none is.
func heldFirst(client *redlatch.Client, names ...string) func(context.Context) string {
	return func(ctx context.Context) string {
		held, status, err := lookAt(ctx, client, names)
		if err != nil || held == "" {
			return ""
		}
		return fmt.Sprintf("lock %q: it is %s", held, describe(status))
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
