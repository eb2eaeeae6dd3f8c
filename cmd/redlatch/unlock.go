package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// unlockFlags are the flags of unlock.
type unlockFlags struct {
	server server
	force  bool
	owner  string
	yes    bool
	asJSON bool
}

func newUnlock() *cobra.Command {
	var f unlockFlags
	cmd := &cobra.Command{
		Use:   "unlock --force NAME",
		Short: "Take a lock away from its holder",
		Long: `unlock --force frees the lock NAME, whoever holds it. The holder does not know
this until its next renewal, within a third of its lease. It works on until
then. If the holder is redlatch run, it then stops its command.

At a terminal unlock asks first. It takes the lock only from the owners that it
has named. Without a terminal it needs --yes.

--if-owner frees the lock only from that owner. Other readers of a read-write
lock keep their holds.

A key may be somebody's data if it has no expiry, or if its owner does not begin
with a UUID. unlock frees it only with --if-owner, or after you answer yes at
the terminal.

With --json it prints an object with a "result":

  freed  the lock is free now
  taken  some of several owners have lost it
  free   it was free already
  left   it was not changed

Exit code:
  0   the lock was freed, or was free already without --if-owner
  1   the lock was not changed: the answer was no, or the owner of --if-owner
      does not hold it
  2   the command line is wrong
  70  Redis failed, or the key is no lock`,
		Example: "  redlatch status nightly-report\n  redlatch unlock --force --if-owner 2f9c…:1 nightly-report",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.force:
				return exit(exitUsage, "a lock is released by its holder; --force takes it away")
			case !f.yes && !term.IsTerminal(int(os.Stdin.Fd())):
				return exit(exitUsage, "there is no terminal to ask at; --yes does without")
			}
			return f.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	f.server.register(cmd)
	flags.BoolVar(&f.force, "force", false, "needed, because the holder is not asked")
	flags.StringVar(&f.owner, "if-owner", "", "free the lock only from this `OWNER`, as status prints it")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	jsonVar(cmd, &f.asJSON)
	return cmd
}

func (f *unlockFlags) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	client, err := f.server.connect(ctx, redlatch.Config{})
	if err != nil {
		return err
	}
	defer closeClient(client)
	f.owner = protocol.ParseWord(f.owner)
	status, err := readStatusOf(ctx, client, name, f.owner)
	_, held := status.HeldBy(f.owner)
	if err != nil {
		return failed(err)
	}
	switch {
	case !status.Locked:
		return f.free(cmd, name)
	case f.owner != "" && !held:
		return f.left(cmd, name, status, fmt.Errorf("lock %q is not held by %s but %s; it was left alone", name, protocol.Show(f.owner), describe(status)))
	case !f.yes && f.owner == "" && len(status.Holders) < status.Owners:
		return f.left(cmd, name, status, fmt.Errorf("lock %q is %s, which are more owners than can be shown; --yes frees it from all of them", name, describe(status)))
	case !f.yes && !f.ask(cmd, name, status):
		return f.left(cmd, name, status, fmt.Errorf("lock %q was left alone", name))
	}
	from, err := f.take(ctx, client, name, status)
	switch {
	case err != nil:
		return failed(err)
	case from == 0:
		return f.changed(cmd, client, name)
	case status.Mode != redlatch.ModeExclusive && (f.owner != "" || !f.yes):
		if now, err := readStatus(ctx, client, name); err == nil && now.Locked {
			return f.report(cmd, "taken", name, status, fmt.Sprintf("taken from %s; it is %s", owners(from, status), describe(now)))
		}
	}
	return f.report(cmd, "freed", name, status, "freed; it was "+describe(status))
}

// owners names one owner, or says how many there are.
func owners(n int, status redlatch.Status) string {
	if n == 1 && len(status.Holders) == 1 {
		return protocol.Show(status.Holders[0].Owner)
	}
	return fmt.Sprintf("%d owners", n)
}

// unlockReport is an outcome for scripts. docs/cli.md describes the fields, which stay.
type unlockReport struct {
	Lock   string       `json:"lock"`
	Result string       `json:"result"`
	Before statusReport `json:"before"`
}

// report prints an outcome.
func (f *unlockFlags) report(cmd *cobra.Command, result, name string, before redlatch.Status, text string) error {
	if f.asJSON {
		return printJSON(cmd.OutOrStdout(), unlockReport{protocol.Argument(name), result, newStatusReport(name, before)})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", protocol.Show(name), text)
	return err
}

// left reports a lock that was left alone.
func (f *unlockFlags) left(cmd *cobra.Command, name string, status redlatch.Status, reason error) error {
	if f.asJSON {
		if err := f.report(cmd, "left", name, status, ""); err != nil {
			return err
		}
	}
	return &exitError{exitHeld, reason}
}

// free reports a lock that nobody holds, so that the owner of --if-owner does not either.
func (f *unlockFlags) free(cmd *cobra.Command, name string) error {
	if f.owner != "" {
		return f.left(cmd, name, redlatch.Status{}, fmt.Errorf("lock %q is not held by %s: it is free", name, protocol.Show(f.owner)))
	}
	return f.report(cmd, "free", name, redlatch.Status{}, "it was free already")
}

// ask asks at the terminal. Only "y" and "yes" mean yes.
func (f *unlockFlags) ask(cmd *cobra.Command, name string, status redlatch.Status) bool {
	fmt.Fprintf(cmd.ErrOrStderr(), "Lock %q is %s.\n%sIts holder works on until its next renewal. Take it away? [y/N] ", name, describe(status), details(status))
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// forceable is what every single lock can do for an operator.
type forceable interface {
	ForceUnlock(ctx context.Context) (bool, error)
	ForceUnlockIf(ctx context.Context, owner string) (bool, error)
}

// take frees the lock, or takes it from those owners that --if-owner or the terminal has named, and from
// no other: each script compares. It returns from how many owners.
func (f *unlockFlags) take(ctx context.Context, client *redlatch.Client, name string, seen redlatch.Status) (from int, err error) {
	var lock forceable = client.Mutex(name)
	switch {
	case seen.Mode != redlatch.ModeExclusive:
		lock = client.RWMutex(name)
	case len(seen.Queue) > 0:
		lock = client.FairMutex(name) // tells the next in the queue
	}
	if f.yes && f.owner == "" {
		forced, err := lock.ForceUnlock(ctx)
		return map[bool]int{true: seen.Owners}[forced], err
	}
	done := make(map[string]bool) // a writer may read as well
	for _, h := range seen.Holders {
		if done[h.Owner] {
			continue
		}
		done[h.Owner] = true
		forced, err := lock.ForceUnlockIf(ctx, h.Owner)
		if err != nil {
			return from, fmt.Errorf("%w; it was taken from %d owners before", err, from)
		}
		if forced {
			from++
		}
	}
	return from, nil
}

// changed reports a lock that had another holder, or none, when it was to be freed.
func (f *unlockFlags) changed(cmd *cobra.Command, client *redlatch.Client, name string) error {
	status, err := readStatus(cmd.Context(), client, name)
	switch {
	case err != nil:
		return failed(err)
	case !status.Locked:
		return f.free(cmd, name)
	}
	return f.left(cmd, name, status, fmt.Errorf("lock %q is %s by now; it was left alone", name, describe(status)))
}
