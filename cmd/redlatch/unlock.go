package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
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
}

func newUnlock() *cobra.Command {
	var f unlockFlags
	cmd := &cobra.Command{
		Use:   "unlock --force NAME",
		Short: "Take a lock away from its holder",
		Long: `unlock --force frees the lock NAME, whoever holds it. The holder works on until
its next renewal tells it, within a third of its lease; a command under redlatch
run is then stopped. It asks first, and then frees the lock only if its holder is
still the one that it named. --if-owner takes a read-write lock from one reader and
leaves the others theirs.

A key without expiry, or whose owner does not begin with a UUID, may be somebody's
data: it is freed only with --if-owner, or after a yes at the terminal.

Exit code: 0 when the lock was freed or was free already, 1 if it was left alone
because the answer was no or --if-owner does not hold it, 2 for a wrong command
line, 70 if Redis failed or the key is no lock.`,
		Args:              oneName,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.force:
				return exit(exitUsage, "a lock is given back by its holder; --force takes it away")
			case cmd.Flags().Changed("if-owner") && f.owner == "":
				return exit(exitUsage, "--if-owner is empty, which nobody is called")
			case !f.yes && !term.IsTerminal(int(os.Stdin.Fd())):
				return exit(exitUsage, "there is no terminal to ask at; --yes does without")
			}
			return f.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	f.server.register(cmd)
	flags.BoolVar(&f.force, "force", false, "needed: the holder is not asked")
	flags.StringVar(&f.owner, "if-owner", "", "free it only if this `OWNER` holds it, as status names it")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (f unlockFlags) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	client, err := f.server.connect(ctx, redlatch.Config{})
	if err != nil {
		return err
	}
	defer closeClient(client)
	status, err := readStatus(ctx, client, name)
	if err != nil {
		return failed(err)
	}
	_, held := status.HeldBy(f.owner)
	if as, err := strconv.Unquote(f.owner); err == nil && !held {
		if _, held = status.HeldBy(as); held {
			f.owner = as // status quotes a name that is no printable word
		}
	}
	switch {
	case !status.Locked:
		return f.free(cmd, name)
	case f.owner != "" && !held:
		return exit(exitHeld, "lock %q is not held by %s but %s; it was left alone", name, protocol.Show(f.owner), describe(status))
	case !f.yes && !f.ask(cmd, name, status):
		return exit(exitHeld, "lock %q was left alone", name)
	}
	forced, err := f.take(ctx, client, name, status)
	if err != nil {
		return failed(err)
	}
	if forced && f.owner != "" && len(status.Holders) > 1 {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: taken from %s; it was %s\n", protocol.Show(name), protocol.Show(f.owner), describe(status))
		return printed(err)
	}
	if forced {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: freed; it was %s\n", protocol.Show(name), describe(status))
		return printed(err)
	}
	return f.changed(cmd, client, name)
}

// ask asks at the terminal. Only "y" and "yes" mean yes.
func (f unlockFlags) ask(cmd *cobra.Command, name string, status redlatch.Status) bool {
	fmt.Fprintf(cmd.ErrOrStderr(), "Lock %q is %s.\nIts holder works on until its next renewal. Take it away? [y/N] ", name, describe(status))
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

// take frees the lock, or takes it from one owner. The answer at the terminal was about one
// holder, and not about the next.
func (f unlockFlags) take(ctx context.Context, client *redlatch.Client, name string, seen redlatch.Status) (bool, error) {
	owner := f.owner
	var lock forceable = client.Mutex(name)
	switch {
	case seen.Mode != "exclusive":
		lock = client.RWMutex(name)
	case len(seen.Queue) > 0:
		lock = client.FairMutex(name) // tells the next in the queue
	}
	if seen.Mode == "exclusive" && !f.yes {
		owner = seen.Holders[0].Owner
	}
	if owner == "" {
		return lock.ForceUnlock(ctx)
	}
	return lock.ForceUnlockIf(ctx, owner)
}

// changed reports a lock that had another holder, or none, when it was to be freed.
func (f unlockFlags) changed(cmd *cobra.Command, client *redlatch.Client, name string) error {
	status, err := readStatus(cmd.Context(), client, name)
	switch {
	case err != nil:
		return failed(err)
	case !status.Locked:
		return f.free(cmd, name)
	}
	return exit(exitHeld, "lock %q is %s by now; it was left alone", name, describe(status))
}

func (f unlockFlags) free(cmd *cobra.Command, name string) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: it was free already\n", protocol.Show(name))
	return printed(err)
}
