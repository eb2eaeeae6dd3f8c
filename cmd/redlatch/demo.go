package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
		Short: "Watch processes share a lock, renew it, die with it and retake it",
		Long: `demo starts processes that add one to a number in a file, over and over. Only a
lock guards the number. One process holds the lock for longer than its lease,
and renews it. Another process is killed while it holds the lock, so the lock is
free when the lease ends.

At the end demo says whether two processes held the lock at once, and whether
an increment was lost. It learns that from the processes, not from the lock.
Ctrl-C ends it earlier, with a summary.

With --fair the lock serves the processes in the order in which they asked. demo
shows the queue in Redis.

With --pause demo stops two holders with SIGSTOP for four leases. A watchdog
protects one of them, which keeps its lock. The other loses its lock, and learns
that when it goes on. Only --lease, --redis and --console apply to --pause.
The lease is 2s by default.

With --console it also serves the page of redlatch console, prints its address,
and runs for 10 minutes unless --for says otherwise.

demo starts a server if there is no --redis. On a server of yours it uses one
new name for the lock, and leaves nothing behind.

Exit code:
  0   no two processes held the lock at once, and no increment was lost
  1   the lock failed
  2   the command line is wrong
  70  Redis or a process failed`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return check(cmd.Flags(), func(flag string) string { return "--" + flag })
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			adjust(&settings, cmd.Flags())
			return runDemo(cmd, settings)
		},
	}
	flags := cmd.Flags()
	durationVar(flags, &settings.For, "for", "", 15*time.Second, "how long it runs")
	intVar(flags, &settings.Workers, "workers", "", 4, "number of processes")
	durationVar(flags, &settings.Lease, "lease", "", 3*time.Second, "time to live of the lock, renewed every third of this time")
	durationVar(flags, &settings.Work, "work", "", 30*time.Millisecond, "time inside the critical section")
	flags.BoolVar(&settings.Fair, "fair", false, "use the fair lock, and show its queue")
	flags.BoolVar(&settings.Pause, "pause", false, "show a paused holder without a watchdog and with one")
	flags.BoolVar(&settings.Console, "console", false, "show the lock on a web page, too")
	flags.StringVar(&settings.Redis, "redis", "", "`URL` of a server, such as redis://host:6379 (default: demo starts one)")
	return cmd
}

// adjust sets the defaults that depend on other flags.
func adjust(settings *demo.Settings, flags *pflag.FlagSet) {
	if settings.Pause && !flags.Changed("lease") {
		settings.Lease = 2 * time.Second
	}
	if settings.Console && !settings.Pause && !flags.Changed("for") {
		settings.For = 10 * time.Minute
	}
}

func runDemo(cmd *cobra.Command, settings demo.Settings) error {
	if err := settings.Check(); err != nil {
		return &exitError{exitUsage, err}
	}
	// Go tries out pidfd by a fork without a mask of signals, the first time that it needs a process. A signal to the group
	// crashes both then. So that comes before demo heeds signals.
	_, _ = os.FindProcess(os.Getpid())
	// The second Ctrl-C ends the process at once.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	// Where the reader of the output leaves, as head does, writing fails instead of
	// ending the process, so that it can tidy up.
	signal.Ignore(syscall.SIGPIPE)
	sound, err := demo.Run(ctx, settings, os.Stdout, demoActor)
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
			if err := demo.Act(cmd.Context(), os.Stdin, os.Stdout, demoLock); err != nil {
				return &exitError{exitFailure, err}
			}
			return nil
		},
	}
}
