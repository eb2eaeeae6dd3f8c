package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// holdFlags are the flags of hold.
type holdFlags struct{ acquiring }

func newHold() *cobra.Command {
	var f holdFlags
	cmd := &cobra.Command{
		Use:   "hold [flags] NAME",
		Short: "Hold a lock until Ctrl-C",
		Long: `hold waits until it holds the lock NAME, prints its owner, and holds the lock
until SIGINT, SIGTERM or SIGHUP. It renews the lock. Use it to keep others out
while you work by hand. For a program use redlatch run, which stops the program
if the lock is lost. With --permits it holds a permit of the semaphore NAME.

Exit code:
  0   a signal ended it, and the lock is released
  1   others hold the lock or all permits, and the wait is over
  2   the command line is wrong
  70  redlatch failed: Redis cannot be reached, or the key has other data
  75  the hold was lost`,
		Example: "  redlatch hold nightly-report\n  redlatch hold -n --name maintenance nightly-report",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := f.kind.check(cmd.Flags().Changed)
			switch {
			case err != nil:
				return err
			case f.wait < 0:
				return exit(exitUsage, "--wait %v: it is negative", f.wait)
			case f.config.LeaseTime < minLease || f.config.LeaseTime > longest:
				return exit(exitUsage, "--lease-time %v: from %v to %v", f.config.LeaseTime, minLease, longest)
			}
			if err := checkStdout(); err != nil {
				return err
			}
			return f.run(cmd, args[0])
		},
	}
	f.register(cmd, "a lock that others hold, or a wait for the server")
	return cmd
}

func (f *holdFlags) run(cmd *cobra.Command, name string) error {
	signals, stop := listen()
	defer stop()
	waiting, stopListening := untilSignal(cmd.Context(), signals)
	p := f.patience(cmd.Flags().Changed)
	client, hold, err := f.acquire(waiting, &p, name)
	if client != nil {
		defer closeClient(client) // which releases a lock that came together with a signal
	}
	if interrupted := stopListening(); interrupted != nil {
		return interrupted
	}
	switch {
	case errors.Is(err, redlatch.ErrNotAcquired) && f.quiet:
		return &exitError{code: exitHeld}
	case errors.Is(err, redlatch.ErrNotAcquired):
		return &exitError{exitHeld, err}
	case err != nil:
		return failed(err)
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: held by %s\n", protocol.Show(name), protocol.Show(hold.Owner())); err != nil {
		return err
	}
	return f.keep(hold, signals)
}

// acquire connects and takes the lock.
func (f *holdFlags) acquire(ctx context.Context, p *patience, name string) (*redlatch.Client, *redlatch.Hold, error) {
	client, err := p.connect(ctx, &f.server, f.config)
	if err != nil {
		return nil, nil, err
	}
	hold, err := p.take(ctx, client, &f.kind, f.kind.lock(client, name), nil)
	return client, hold, err
}

// keep holds the lock until a signal comes or the hold is lost.
func (f *holdFlags) keep(hold *redlatch.Hold, signals <-chan os.Signal) error {
	select {
	case <-signals:
	case <-hold.Done():
	}
	if err := hold.Unlock(context.Background()); errors.Is(err, redlatch.ErrLost) {
		return &exitError{exitLost, err}
	} else if err != nil {
		return failed(err)
	}
	return nil
}
