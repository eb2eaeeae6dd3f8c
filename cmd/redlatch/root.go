package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The exit codes are part of the command line's contract.
const (
	exitHeld      = 1   // the lock is held by another; of run only the default
	exitFindings  = 1   // audit: something is wrong
	exitUsage     = 2   // the command line is wrong
	exitFailure   = 70  // redlatch itself failed, for example because Redis is down
	exitLost      = 75  // the hold was lost while the command ran
	exitCannotRun = 126 // the command cannot be run
	exitNotFound  = 127 // there is no such command
	exitSignal    = 128 // and the number of the signal
)

// exitError ends the process with a code. Without an error it does so silently.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exit ends the process with a code and one line that says why.
func exit(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

const rootHelp = `redlatch shares locks among processes on many machines through Redis, in the
layout of Java's Redisson, so that Go, Java and shell contend for the same lock.

  redlatch run NAME -- COMMAND          run a command under a lock
  redlatch hold NAME                    hold a lock until Ctrl-C
  redlatch acquire NAME                 take a lock, and print a ticket for it
  redlatch status NAME                  print who holds a lock
  redlatch ls                           list all locks
  redlatch wait NAME                    wait until a lock is free
  redlatch unlock NAME                  ask the holder of a lock to give it back
  redlatch console                      show every lock on a web page
  redlatch audit                        find what is wrong with the locks
  redlatch deadlocks                    find processes that block each other
  redlatch doctor                       find what makes locks unsafe on a server
  redlatch verify FILE                  find overlaps in recorded events
  redlatch help errors                  explain exit codes and messages

--redis or the environment variable REDLATCH_REDIS names the server, such as
redis://host:6379. Each flag has a variable: REDLATCH_LEASE_TIME sets
--lease-time. If both are set, the flag applies. --force, --yes, --allow-unlock,
--set and --add, --permits of ls and audit, and all flags of demo and version
have none.

A duration is a number of seconds, such as 5, or has a unit, such as 500ms or
1m30s.`

// newRoot returns the command with all its verbs, which print to out.
func newRoot(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "redlatch",
		Short:         "Locks that processes share through Redis",
		Long:          rootHelp,
		Version:       readVersion().String(),
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
		Args:                       noVerb,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newRun(), newHold(), newAcquire(), newExtend(), newRelease(), newStatus(), newWait(), newUnlock(), newPermits(), newList(), newShow(), newTop(), newAudit(), newWatch(), newDeadlocks(), newDoctor(), newVerify(), newVersion(), newWatchdog(), newConsole(), newDemo(), newDemoActor(), newMan(), newErrors())
	for _, verb := range root.Commands() {
		if verb.ValidArgsFunction == nil {
			verb.ValidArgsFunction = cobra.NoFileCompletions // it names no files
		}
	}
	root.SetOut(out)
	root.SetVersionTemplate("redlatch {{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			return wrongValue(value.GetFlag(), "--"+value.GetFlag().Name+" "+value.GetValue())
		}
		return exit(exitUsage, "%w; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = noTopic
	}
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE, completion.SuggestionsMinimumDistance = noVerb, root.RunE, 2
	}
	return root
}

// noVerb refuses what is no verb. Without any the help is printed.
func noVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := root.SuggestionsFor(args[0]); len(like) > 0 {
		return exit(exitUsage, "unknown command %q; did you mean %s?", args[0], strings.Join(like, " or "))
	}
	return exit(exitUsage, "unknown command %q; redlatch help lists the commands", args[0])
}

// noTopic refuses what help cannot explain.
func noTopic(help *cobra.Command, args []string) error {
	if found, _, err := help.Root().Find(args); len(args) > 0 && (err != nil || found == help.Root()) {
		return exit(exitUsage, "there is no help on %q; redlatch help lists the commands and topics", strings.Join(args, " "))
	}
	return nil
}
