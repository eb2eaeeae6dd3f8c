package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

func newWatch() *cobra.Command {
	var f inspecting
	cmd := &cobra.Command{
		Use:   "watch NAME",
		Short: "Print what happens to one lock, as it happens",
		Long: `watch prints a line for each event of the lock NAME: who takes it, renews it,
releases it or loses it, who waits, and what is wrong. It runs until SIGINT or
SIGTERM. It changes nothing.

watch reads the lock once every --every. It does not see what begins and ends in
between.

With --json watch prints one object a line for each event.

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
	f.registerLive(cmd, "events", 200*time.Millisecond)
	return cmd
}

// watch prints events until the snapshots end. A failure between two readings is only told: Redis may
// come back.
func (f *inspecting) watch(ctx context.Context, cmd *cobra.Command, i *inspect.Inspector, name string) error {
	begun, events := false, 0
	for s, err := range i.Watch(ctx, name, f.every) {
		switch {
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
