package main

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
)

const runHelp = `run waits until it holds the lock NAME, runs COMMAND, and releases the lock.
It renews the lock while the command runs.

COMMAND begins after --. Without a -- it begins behind NAME, and the flags of
run stand before NAME.

run stops the command, and everything that it started, before another can have
the lock. It does so if the hold is lost, or if Redis does not confirm the hold
in time. A second process, the switch, does it even if redlatch is killed or
paused. ps shows the switch as rl-switch.

If redlatch unlock asks for the lock, run says so and sends SIGTERM to the
command, which may take its time: the lock stays held until the command has
ended. Nothing else happens to a command that goes on.

With --permits N, at most N of these commands run at a time, on all machines.
Each takes a permit of the semaphore NAME, which the first one makes. Redis has
one number of permits: a command with another N is refused.

With --ticket, run takes over the lock of the ticket that redlatch acquire has
printed, and there is no NAME. Of all who use one ticket, the first has the
lock. REDLATCH_TICKET may have the ticket instead.

The command has a process group of its own. redlatch passes SIGHUP, SIGINT,
SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 on to that group. When the command ends,
redlatch stops the rest of the group. The command's environment has

  REDLATCH_LOCK      the name of the lock
  REDLATCH_OWNER     the owner of the lock, as status prints it
  REDLATCH_DEADLINE  the deadline of the hold when the command began; renewals
                     do not change the variable
  REDLATCH_TOKEN     with --fencing, the fencing token, which only grows
  REDLATCH_HOLDS     for a redlatch run inside the command; do not change it

Exit code:
  the command's own, or 128+n if signal n ended it
  1      others hold the lock or all permits, and the wait is over
         (-E: another code)
  2      the command line is wrong
  70     redlatch failed: Redis cannot be reached, the key has other data, or
         the switch was killed
  75     the hold was lost while the command ran. The command was stopped, or
         had just ended by itself. Or the ticket is over: nothing was run
  126    the command cannot be run
  127    there is no such command
  128+n  signal n came while it waited for the lock; nothing is left in Redis`

// runFlags are the flags of run.
type runFlags struct {
	acquiring
	lease        time.Duration // 0: the lock is renewed
	conflictCode int
	killAfter    time.Duration
	reentrant    bool
	fencing      bool
	maxHold      time.Duration
	atLeast      time.Duration
	backoff      time.Duration
	ticket       ticketFlag
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:               "run [flags] NAME [--] COMMAND [ARGUMENT…]",
		Short:             "Run a command under a lock, and stop it if the lock is lost",
		Long:              runHelp,
		Example:           "  redlatch run nightly-report -- ./report.sh\n  redlatch run -n -E 0 --quiet cleanup -- ./cleanup.sh   # in a crontab\n  redlatch run --permits 3 encoders -- ./encode.sh       # three at a time\n  redlatch run --ticket ticket -- ./deploy.sh",
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
	f.register(cmd, "a lock that others hold or ask for, a wait for the server, or processes left behind")
	f.registerRenewal(cmd)
	f.ticket.register(cmd)
	durationVar(flags, &f.lease, "lease", "", 0, "a fixed lease: the lock is not renewed, and the command is stopped before the lease ends")
	intVar(flags, &f.conflictCode, "conflict-exit-code", "E", exitHeld, "exit code if the wait for the lock is over")
	durationVar(flags, &f.killAfter, "kill-after", "", 0, "time from SIGTERM to SIGKILL (default: a sixth of the lease, at most 10s)")
	flags.BoolVar(&f.reentrant, "reentrant", false, "inside a redlatch run of the same lock, use its hold")
	flags.BoolVar(&f.fencing, "fencing", false, "take a fencing token with the hold, so that a store can refuse late writes")
	durationVar(flags, &f.maxHold, "max-hold", "", 0, "renew the lock for at most this long, and stop the command before that (default: no limit)")
	durationVar(flags, &f.atLeast, "at-least", "", 0, "keep the lock for at least this long, also if the command ends earlier")
	durationVar(flags, &f.backoff, "backoff", "", 0, "ask again after at most this long instead of waiting for messages, where these are not allowed or a Java spin lock holds the lock (default: wait for messages)")
	return cmd
}

// asFlock lets the flags of run end at the lock's name if there is no --, as flock(1) does: those behind it
// are the command's.
func asFlock(root *cobra.Command, args []string) {
	if verb, rest, err := root.Find(args); err == nil && verb.Name() == "run" && !slices.Contains(rest, "--") {
		verb.Flags().SetInterspersed(false)
	}
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

// longest is the longest time that a client takes.
const longest = 10 * 365 * 24 * time.Hour

// tooLong is the first flag whose time is above longest, with its value, or "".
func (f *runFlags) tooLong() string {
	for _, one := range []struct {
		flag string
		d    time.Duration
	}{{"lease-time", f.config.LeaseTime}, {"lease", f.lease}, {"max-hold", f.maxHold}, {"at-least", f.atLeast}, {"backoff", f.backoff}} {
		if one.d > longest {
			return fmt.Sprintf("%s %v", one.flag, one.d)
		}
	}
	return ""
}

// task checks a command line, and finds the command.
func (f runFlags) task(cmd *cobra.Command, args []string) (*task, error) {
	set := cmd.Flags().Changed
	lease := f.config.LeaseTime
	if set("lease") {
		lease = f.lease
	}
	span := lease // for which the hold lasts at least, if nothing goes wrong
	if set("max-hold") {
		span = min(lease, f.maxHold)
	}
	if !set("kill-after") {
		f.killAfter = supervise.KillAfter(span)
	}
	name, words, unnamed := f.words(cmd, args)
	late := supervise.CheckKillAfter(f.killAfter, span)
	wrong := f.kind.check(set)
	switch {
	case wrong != nil:
		return nil, wrong
	case unnamed != nil:
		return nil, unnamed
	case f.wait < 0:
		return nil, exit(exitUsage, "--wait %v: it is negative", f.wait)
	case lease < minLease:
		return nil, exit(exitUsage, "a lease of %v: it is below %v", lease, minLease)
	case set("max-hold") && f.maxHold < minLease:
		return nil, exit(exitUsage, "--max-hold %v: it is below %v", f.maxHold, minLease)
	case f.atLeast < 0 || set("max-hold") && f.atLeast > f.maxHold:
		return nil, exit(exitUsage, "--at-least %v: it is negative, or longer than --max-hold", f.atLeast)
	case set("backoff") && f.backoff < time.Millisecond:
		return nil, exit(exitUsage, "--backoff %v: it is below 1ms", f.backoff)
	case f.tooLong() != "":
		return nil, exit(exitUsage, "--%s: it is above %v", f.tooLong(), longest)
	case late != nil:
		return nil, exit(exitUsage, "--kill-after %w", late)
	case f.conflictCode < 0 || f.conflictCode > 255:
		return nil, exit(exitUsage, "--conflict-exit-code %d: from 0 to 255", f.conflictCode)
	}
	path, err := lookUp(words[0])
	if err != nil {
		return nil, err
	}
	inherited, err := readInherited()
	if err != nil {
		return nil, err
	}
	t := &task{
		runFlags: f, name: name, demanded: typed(cmd.Flags()), inherited: inherited,
		command: supervise.Command{Path: path, Args: words},
		limits:  supervise.Limits{Lease: span, KillAfter: f.killAfter, Protect: f.config.Protect},
	}
	t.config.LeaseTime, t.config.Backoff.Max = lease, f.backoff
	t.patience = f.patience(set)
	t.setOptions(set)
	return t, nil
}

// words are the name of the lock, which may be that of a ticket, and the words of the command.
func (f *runFlags) words(cmd *cobra.Command, args []string) (name string, command []string, err error) {
	switch dash := cmd.ArgsLenAtDash(); {
	case f.ticket.given != "" && (dash != 0 || len(args) == 0):
		return "", nil, exit(exitUsage, "with --ticket, or %s, there is no NAME: redlatch run [flags] -- COMMAND", ticketVariable)
	case f.ticket.given != "":
		name, err = f.kind.read(&f.ticket)
		return name, args, err
	case dash == 1 && len(args) < 2:
		return "", nil, exit(exitUsage, "there is no command after --")
	case dash != 1 && (dash >= 0 || len(args) < 2 || strings.HasPrefix(args[1], "-")):
		return "", nil, exit(exitUsage, "one NAME, then -- and the command: redlatch %s", cmd.Use)
	}
	return args[0], args[1:], nil
}

// setOptions makes the flags that are set the options of the acquisition.
func (t *task) setOptions(set func(flag string) bool) {
	if set("max-hold") {
		t.options = append(t.options, redlatch.WithMaxHold(t.maxHold))
	}
	if t.note != "" {
		t.options = append(t.options, redlatch.WithNote(t.note))
	}
	if t.fencing {
		t.options = append(t.options, redlatch.WithFencing())
	}
	if set("lease") {
		t.options = append(t.options, redlatch.WithLease(t.lease))
	}
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
