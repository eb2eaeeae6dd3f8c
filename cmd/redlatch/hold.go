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
until SIGINT, SIGTERM or SIGHUP, or until redlatch unlock asks for the lock. It
renews the lock. Use it to keep others out while you work by hand. For a program
use redlatch run, which stops the program if the lock is lost. With --permits it
holds a permit of the semaphore NAME.

Exit code:
  0   a signal or redlatch unlock ended it, and the lock is released
  1   others hold the lock or all permits, and the wait is over
  2   the command line is wrong
  70  redlatch failed: Redis cannot be reached, or the key has other data
  75  the hold was lost`,
		Example: "  redlatch hold nightly-report\n  redlatch hold -n --note \"maintenance\" nightly-report",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.config.LeaseTime < minLease || f.config.LeaseTime > longest {
				return exit(exitUsage, "--lease-time %v: from %v to %v", f.config.LeaseTime, minLease, longest)
			}
			return f.held(cmd, args[0], nil, func(hold *redlatch.Hold, signals <-chan os.Signal) error {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: held by %s\n", protocol.Show(args[0]), protocol.Show(hold.Owner())); err != nil {
					return err
				}
				return f.keep(hold, signals)
			})
		},
	}
	f.register(cmd, "a lock that others hold or ask for, or a wait for the server")
	f.registerRenewal(cmd)
	return cmd
}

// keep holds the lock until a signal comes, somebody asks for it, or the hold is lost.
func (f *holdFlags) keep(hold *redlatch.Hold, signals <-chan os.Signal) error {
	select {
	case <-signals:
	case <-hold.Recalled():
		if !f.quiet {
			tell(hold.RecallErr())
		}
	case <-hold.Done():
	}
	if err := hold.Unlock(context.Background()); errors.Is(err, redlatch.ErrLost) {
		return &exitError{exitLost, err}
	} else if err != nil {
		return failed(err)
	}
	return nil
}
