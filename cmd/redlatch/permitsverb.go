package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// permitsFlags are the flags of permits.
type permitsFlags struct {
	server server
	set    int
	add    int
}

func newPermits() *cobra.Command {
	var f permitsFlags
	cmd := &cobra.Command{
		Use:   "permits (--set N | --add N) NAME",
		Short: "Change how many permits a semaphore has",
		Long: `permits changes how many permits the semaphore NAME has, and prints how many are
available then. Permits in use stay with their holders. If fewer are left than
are in use, nobody gets one until enough have been released.

--set is for permits with a lease, as of run --permits. It makes a semaphore
that does not exist. One --set at a time reads the number and changes it, under
the lock NAME:permits.

--add adds permits, and removes them if N is negative. Use it for a semaphore
without leases, to put back what a dead process had taken. Redis knows neither
who that was nor how many they were. A latch looks the same: --add would change
its count.

Exit code:
  0   the number was changed, or was so already
  2   the command line is wrong
  70  Redis failed, or the key is no semaphore`,
		Example: "  redlatch permits --set 5 encoders\n  redlatch permits --add 2 connections",
		Args:    oneName,
	}
	flags := cmd.Flags()
	f.server.register(cmd)
	intVar(flags, &f.set, "set", "", 0, "the semaphore has `N` permits from now on")
	intVar(flags, &f.add, "add", "", 0, "it has `N` more permits")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch set, add := flags.Changed("set"), flags.Changed("add"); {
		case set == add:
			return exit(exitUsage, "one of --set and --add: redlatch %s", cmd.Use)
		case set && (f.set < 0 || f.set > math.MaxInt32):
			return exit(exitUsage, "--set %d: from 0 to %d", f.set, math.MaxInt32)
		case f.add < -math.MaxInt32 || f.add > math.MaxInt32:
			return exit(exitUsage, "--add %d: from -%d to %[2]d", f.add, math.MaxInt32)
		}
		return f.server.with(cmd.Context(), func(client *redlatch.Client) error {
			if err := f.change(cmd.Context(), client, args[0], flags.Changed("set")); err != nil {
				return failed(err)
			}
			n, err := client.PermitSemaphore(args[0]).Available(cmd.Context())
			if err != nil {
				return failed(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: permits available: %d\n", protocol.Show(args[0]), n)
			return err
		})
	}
	return cmd
}

// change changes the number of permits. --set reads the number before, so only one at a time may do that. The error
// names what has other data: the semaphore, or that lock.
func (f *permitsFlags) change(ctx context.Context, client *redlatch.Client, name string, set bool) (err error) {
	s, wrong := client.PermitSemaphore(name), name
	defer func() { err = ofKind(ctx, client.Driver(), wrong, err) }()
	if !set {
		return add(ctx, s, f.add)
	}
	if made, err := s.TrySetPermits(ctx, f.set); made || err != nil {
		return err
	}
	lock := client.Mutex(name + ":permits")
	err = redlatch.Do(ctx, lock, func(ctx context.Context, _ *redlatch.Hold) error {
		c, err := counter(ctx, client, name)
		if err != nil {
			return err
		}
		return add(ctx, s, f.set-c.Size())
	})
	if errors.Is(err, redlatch.ErrNotCalled) {
		wrong = lock.Name()
	}
	return err
}

// add adds permits, by as many requests as so many need: after --add -2147483647 twice as many are missing.
func add(ctx context.Context, s *redlatch.PermitSemaphore, n int) (err error) {
	for part := 0; n != 0 && err == nil; n -= part {
		part = min(n, math.MaxInt32)
		err = s.AddPermits(ctx, part)
	}
	return err
}
