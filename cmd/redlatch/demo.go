package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/demo"
)

// exitUnsound: the demonstration saw an overlap or lost an increment.
const exitUnsound = 1

// demoActor is the verb under which the demonstration starts this program again.
const demoActor = "demo-actor"

// demoLock makes the lock that the actors contend for. A test puts a broken one here, to
// see the demonstration notice.
var demoLock demo.MakeLock = func(client *redlatch.Client, name string, fair bool) redlatch.Lock {
	if fair {
		return client.FairMutex(name)
	}
	return client.Mutex(name)
}

func newDemo() *cobra.Command {
	var settings demo.Settings
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch processes share a lock, renew it, die with it and get it back",
		Long: `demo starts processes that add one to a number in a file, over and over. Only a
lock guards the number. One process stays inside for longer than its lease, which
it renews. Another is killed inside, and the lock is free when its lease has ended.
At the end demo says whether two were inside at once, and whether an increment was
lost. It learns that from the processes, not from the lock.

With --fair the processes are served in the order in which they asked, and the
queue in Redis is shown.

With --pause it stops two holders with SIGSTOP for four leases. One of them is under
the watchdog and keeps its lock. The other loses it, and learns that when it goes on.
Of the flags, --lease and --redis count.

Without --redis demo brings its own server. With it, the lock has a name of its own
there, and nothing is left behind.

Exit code: 0 if the lock held, 1 if it did not, 2 for a wrong command line, 70 if
Redis or a process failed. Ctrl-C ends it with the summary so far.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if settings.Pause && !cmd.Flags().Changed("lease") {
				settings.Lease = 2 * time.Second
			}
			return runDemo(cmd, settings)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&settings.For, "for", 15*time.Second, "how long it runs")
	flags.IntVar(&settings.Workers, "workers", 4, "number of processes")
	flags.DurationVar(&settings.Lease, "lease", 3*time.Second, "the lock's time to live, renewed every third of it")
	flags.DurationVar(&settings.Work, "work", 30*time.Millisecond, "time inside the critical section")
	flags.BoolVar(&settings.Fair, "fair", false, "use the fair lock, and show its queue")
	flags.BoolVar(&settings.Pause, "pause", false, "show a paused holder without a watchdog and with one")
	flags.StringVar(&settings.Redis, "redis", "", "URL of a server, as in redis://host:6379 (default: one of its own)")
	return cmd
}

func runDemo(cmd *cobra.Command, settings demo.Settings) error {
	if err := settings.Check(); err != nil {
		return &exitError{exitUsage, err}
	}
	// The second Ctrl-C ends the process at once.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	// Where the reader of the output leaves, as head does, writing fails instead of
	// ending the process, so that it can tidy up.
	signal.Ignore(syscall.SIGPIPE)
	sound, err := demo.Run(ctx, settings, cmd.OutOrStdout(), demoActor)
	var config *redlatch.ConfigError
	switch {
	case errors.As(err, &config):
		return &exitError{exitUsage, err}
	case !sound:
		return &exitError{exitUnsound, err}
	case err != nil:
		return &exitError{exitFailure, err}
	}
	return nil
}

func newDemoActor() *cobra.Command {
	return &cobra.Command{
		Use:    demoActor,
		Short:  "Be one of the processes of demo",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Ctrl-C in a terminal reaches every process in it; the parent says
			// when to leave.
			signal.Ignore(os.Interrupt)
			if err := demo.Act(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), demoLock); err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
}
