package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
)

func newWatch() *cobra.Command {
	var f inspecting
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Print what happens to one lock or semaphore, as it happens",
		Long: `watch prints a line for each event of the lock NAME: who takes it, renews it,
releases it or loses it, who waits, and what is wrong. It runs until SIGINT or
SIGTERM. It changes nothing.

watch reads the lock after each of its messages, and once every --every. It does
not see what begins and ends in between.

If NAME is a semaphore or a latch, watch reads it once every --every, and prints
a line for each change: how many permits are available and in use, and how many
processes wait.

With --json watch prints one object a line for each event or change.

Exit code:
  0   SIGINT, SIGTERM or --count ended it
  2   the command line is wrong
  70  Redis failed before the lock was read, or the key has other
      data`,
		Example: "  redlatch watch nightly-report\n  redlatch watch --json --count 1 nightly-report",
		Args:    oneName,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.live(cmd, func(ctx context.Context, i *inspect.Inspector) error {
			return f.watch(ctx, cmd, i, args[0])
		})
	}
	f.register(cmd)
	f.registerLive(cmd, "events")
	return cmd
}

// watch prints events until the snapshots end. A failure between two readings is only told: Redis may
// come back.
func (f *inspecting) watch(ctx context.Context, cmd *cobra.Command, i *inspect.Inspector, name string) error {
	begun, events := false, 0
	for s, err := range i.Watch(ctx, name, f.every) {
		switch {
		case !begun && errors.Is(err, redlatch.ErrWrongType):
			return f.watchCounter(ctx, cmd, i, name)
		case err != nil && (!begun || errors.Is(err, redlatch.ErrWrongType)):
			return failed(ofKind(ctx, f.driver, name, err))
		case err != nil:
			f.tellOnce(err)
			continue
		case !begun && !f.asJSON:
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s\n", timeOfDay(s.At), protocol.Show(s.Locks[0].Name), headline(s.Locks[0])); err != nil {
				return err
			}
		}
		begun = true
		f.tellNotices(i)
		for _, e := range s.Events {
			if err := f.print(cmd, e, fmt.Sprintf("%s %-8s %s\n", timeOfDay(e.At), e.Kind, e.Text)); err != nil {
				return err
			}
			if events++; events == f.count {
				return nil
			}
		}
	}
	return nil
}

// watchCounter prints a semaphore or a latch, and each change. No message says that a permit was taken.
func (f *inspecting) watchCounter(ctx context.Context, cmd *cobra.Command, i *inspect.Inspector, name string) error {
	last, changes := "", 0
	for ctx.Err() == nil && (f.count == 0 || changes <= f.count) {
		c, err := i.Counter(ctx, name)
		now := countOf(c)
		if c.Waiting >= 0 {
			now += ", waiting: " + processes(c.Waiting)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && last == "":
			return failed(err)
		case err != nil:
			f.tellOnce(err)
		case now != last:
			if err := f.print(cmd, c, fmt.Sprintf("%s %s: %s\n", timeOfDay(c.Seen), protocol.Show(name), now)); err != nil {
				return err
			}
			last = now
			changes++
		}
		f.tellNotices(i)
		_ = pause.For(ctx, f.every)
	}
	return nil
}
