package main

import (
	"errors"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
)

const runHelp = `run waits until it holds the lock NAME, runs COMMAND, and gives the lock back. It
renews the lock while the command runs. If the hold is lost, or cannot be proven
in time because the server hangs or is out of reach, the command and everything
that it started is stopped before the lock can be somebody else's.

The command has a process group of its own; SIGHUP, SIGINT, SIGQUIT, SIGTERM,
SIGUSR1 and SIGUSR2 are passed on to it. What it leaves behind in its group is
stopped when it ends. In its environment are

  REDLATCH_LOCK      the name of the lock
  REDLATCH_OWNER     the holder as it stands in Redis
  REDLATCH_DEADLINE  until when the hold could be trusted when the command began
  REDLATCH_TOKEN     with --fencing, the hold's token, which only grows
  REDLATCH_HOLDS     this lock and those around it, for redlatch itself

Exit code:
  the command's own, or 128+n if signal n ended it
  1      the lock is held by another, and the wait is over (-E: another code)
  2      the command line is wrong
  70     redlatch failed, for example because Redis cannot be reached
  75     the hold was lost while the command ran, which was stopped
  126    the command cannot be run
  127    there is no such command
  128+n  signal n came while it waited for the lock; nothing is left in Redis`

// runFlags are the flags of run.
type runFlags struct {
	server       server
	kind         kind
	nonblock     bool
	wait         time.Duration
	lease        time.Duration
	leaseTime    time.Duration
	conflictCode int
	killAfter    time.Duration
	reentrant    bool
	fencing      bool
	quiet        bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:               "run [flags] NAME -- COMMAND [ARGUMENT…]",
		Short:             "Run a command while holding a lock, and stop it when the lock is lost",
		Long:              runHelp,
		Example:           "  redlatch run nightly-report -- ./report.sh\n  redlatch run -n -E 0 --quiet cleanup -- ./cleanup.sh   # in a crontab on every machine",
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := f.task(cmd, args)
			if err != nil {
				return err
			}
			return t.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	f.server.register(cmd)
	f.kind.register(cmd)
	flags.BoolVarP(&f.nonblock, "nonblock", "n", false, "do not wait for the lock")
	flags.DurationVarP(&f.wait, "wait", "w", 0, "wait for the lock at most this long (default: for ever)")
	flags.DurationVar(&f.lease, "lease", 0, "hold the lock for at most this long: it is not renewed, and the command is stopped before it ends")
	flags.DurationVar(&f.leaseTime, "lease-time", 30*time.Second, "time to live of the lock in Redis, renewed every third of it")
	flags.IntVarP(&f.conflictCode, "conflict-exit-code", "E", exitHeld, "exit code when the lock is held by another")
	flags.DurationVar(&f.killAfter, "kill-after", 0, "time from SIGTERM to SIGKILL when the command is stopped (default: a sixth of the lease, at most 10s)")
	flags.BoolVar(&f.reentrant, "reentrant", false, "under a redlatch run of the same lock, run the command under its hold")
	flags.BoolVar(&f.fencing, "fencing", false, "take a token with the hold, for what refuses the write of a holder that was overtaken")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "say nothing about a lock that is held by another, nor about processes left behind")
	return cmd
}

// completeCommand completes the words of the command as file names. It does not know the
// names of locks.
func completeCommand(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// minLease is the shortest lease that leaves time to start and to stop a process.
const minLease = 100 * time.Millisecond

// task checks a command line, and finds the command.
func (f runFlags) task(cmd *cobra.Command, args []string) (*task, error) {
	set := cmd.Flags().Changed
	lease := f.leaseTime
	if set("lease") {
		lease = f.lease
	}
	if !set("kill-after") {
		f.killAfter = supervise.KillAfter(lease)
	}
	late := supervise.CheckKillAfter(f.killAfter, lease)
	switch {
	case cmd.ArgsLenAtDash() != 1:
		return nil, exit(exitUsage, "one NAME, then -- and the command: redlatch %s", cmd.Use)
	case len(args) < 2:
		return nil, exit(exitUsage, "there is no command after --")
	case f.nonblock && set("wait"):
		return nil, exit(exitUsage, "--nonblock and --wait exclude each other")
	case f.wait < 0:
		return nil, exit(exitUsage, "--wait %v: it is negative", f.wait)
	case set("lease") && set("lease-time"):
		return nil, exit(exitUsage, "--lease, which is not renewed, and --lease-time, which is, exclude each other")
	case lease < minLease:
		return nil, exit(exitUsage, "a lease of %v: it is below %v", lease, minLease)
	case late != nil:
		return nil, exit(exitUsage, "--kill-after %w", late)
	case f.conflictCode < 0 || f.conflictCode > 255:
		return nil, exit(exitUsage, "--conflict-exit-code %d: from 0 to 255", f.conflictCode)
	}
	path, err := lookUp(args[1])
	if err != nil {
		return nil, err
	}
	inherited, err := readInherited()
	if err != nil {
		return nil, err
	}
	t := &task{
		runFlags: f, name: args[0], inherited: inherited,
		command: supervise.Command{Path: path, Args: args[1:]},
		limits:  supervise.Limits{Lease: lease, KillAfter: f.killAfter},
	}
	t.config.LeaseTime = lease
	if f.nonblock || set("wait") {
		t.options = append(t.options, redlatch.WithWait(f.wait))
	}
	if f.fencing {
		t.options = append(t.options, redlatch.WithFencing())
	}
	if set("lease") {
		t.options = append(t.options, redlatch.WithLease(lease))
		t.fixed = true
	}
	return t, nil
}

// lookUp finds a command as a shell does, before the wait for the lock.
func lookUp(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		return path, nil
	default:
		return "", cannotRun(name, err)
	}
}
