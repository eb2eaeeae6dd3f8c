package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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
	reason string
	wait   time.Duration
	yes    bool
	asJSON bool
}

const unlockHelp = `unlock asks the holders of the lock NAME to give it back, and waits for that.
A holder is told who asks, and the --reason, with its next renewal: within a
third of its lease. It gives the lock back when its work allows it, so nobody
loses a lock by it. redlatch run then sends SIGTERM to its command.

A holder is not told while it is paused, if its lease is fixed, or if it is
another implementation, such as Java. unlock says so when -w is over. At a
terminal it then offers to take the lock away.

unlock --force takes the lock away, whoever holds it. The holder does not know
this until its next renewal. It works on until then. With -w, unlock --force
asks first, and takes the lock only from those that it has asked.

At a terminal unlock takes the lock only from the owners that it has named, and
after you answer yes. Without a terminal --force needs --yes.

--if-owner asks only that owner, or takes the lock only from that one. Other
readers of a read-write lock keep their holds.

A key may be somebody's data if it has no expiry, or if its owner does not begin
with a UUID. Then nobody is asked. unlock frees it only with --force and
--if-owner, or after you answer yes at the terminal.

With --json it prints an object with a "result":

  returned  those that were asked have given the lock back
  freed     the lock was taken away, and is free now
  taken     some of several owners have lost it
  free      it was free already
  left      it is held as before

Exit code:
  0   the lock was given back or taken away, or was free already without
      --if-owner
  1   it is still held, or the owner of --if-owner does not hold it
  2   the command line is wrong
  70  Redis failed, or the key is no lock`

// usualWait is a third of the usual lease, within which a holder is told, and some time to give the lock back.
const usualWait = 15 * time.Second

func newUnlock() *cobra.Command {
	var f unlockFlags
	cmd := &cobra.Command{
		Use:     "unlock [flags] NAME",
		Short:   "Ask for a lock back, or take it away from its holder",
		Long:    unlockHelp,
		Example: "  redlatch unlock --reason \"deploy 4711\" nightly-report\n  redlatch unlock --force --if-owner 2f9c…:1 nightly-report",
		Args:    oneName,
	}
	flags := cmd.Flags()
	f.server.register(cmd)
	flags.BoolVar(&f.force, "force", false, "take the lock away, although its holder works on")
	flags.StringVar(&f.owner, "if-owner", "", "ask only this `OWNER`, as status prints it, or take the lock only from it")
	flags.StringVar(&f.reason, "reason", "", "tell the holders this `TEXT`")
	durationVar(flags, &f.wait, "wait", "w", 0, "ask the holders, and wait at most this long (default: 15s; --force does not ask)")
	flags.BoolVarP(&f.yes, "yes", "y", false, "ask nothing at the terminal")
	jsonVar(cmd, &f.asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		waits := flags.Changed("wait")
		switch {
		case f.wait < 0:
			return exit(exitUsage, "--wait %v: it is negative", f.wait)
		case f.force && !f.yes && !hasUser():
			return exit(exitUsage, "there is no terminal to ask at; --yes does without")
		case !waits:
			f.wait = usualWait
		}
		u := &unlocking{unlockFlags: f, cmd: cmd, name: args[0], asks: waits || !f.force}
		return u.run(cmd.Context())
	}
	return cmd
}

// hasUser says that there is somebody to ask, at a terminal.
func hasUser() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

// unlocking is one unlock of a lock.
type unlocking struct {
	unlockFlags
	cmd    *cobra.Command
	client *redlatch.Client
	name   string
	asks   bool            // the holders, before all else
	seen   redlatch.Status // the lock, as the user knows it
	asked  []*askedHolder  // who was asked
}

func (u *unlocking) run(ctx context.Context) (err error) {
	if u.client, err = u.server.connect(ctx, redlatch.Config{Name: asker()}); err != nil {
		return err
	}
	defer closeClient(u.client)
	u.owner = protocol.ParseWord(u.owner)
	if u.seen, err = readStatusOf(ctx, u.client, u.name, u.owner); err != nil {
		return failed(err)
	}
	switch {
	case !u.seen.Locked:
		return u.free()
	case u.owner != "" && holderIn(u.seen, u.owner) == nil:
		return u.left(u.seen, "is not held by %s but %s; it was left alone", protocol.Show(u.owner), describe(u.seen))
	case !u.asks:
		return u.takeAway(ctx)
	}
	still, err := u.recall(ctx)
	switch {
	case err != nil:
		return failed(err)
	case still == "":
		return u.returned()
	case !u.force && (u.yes || !hasUser()), u.yes && u.owner == "" && u.asked == nil:
		return u.left(u.seen, "%s", still)
	}
	tell(fmt.Errorf("lock %q %s", u.name, still))
	return u.takeAway(ctx)
}

// takeAway takes the lock away from its holders.
func (u *unlocking) takeAway(ctx context.Context) error {
	switch {
	case !u.yes && u.owner == "" && len(u.seen.Holders) < u.seen.Owners:
		return u.left(u.seen, "is %s, which are more owners than can be shown; --force --yes frees it from all of them", describe(u.seen))
	case !u.yes && !u.confirmed():
		return u.left(u.seen, "was left alone")
	}
	from, err := u.take(ctx)
	switch {
	case err != nil:
		return failed(err)
	case from == 0:
		return u.changed(ctx)
	case u.seen.Mode != redlatch.ModeExclusive && !u.whole():
		if now, err := readStatus(ctx, u.client, u.name); err == nil && now.Locked {
			return u.report("taken", u.seen, fmt.Sprintf("taken from %s; it is %s", owners(from, u.seen), describe(now)))
		}
	}
	return u.report("freed", u.seen, "freed; it was "+describe(u.seen))
}

// owners names one owner, or says how many there are.
func owners(n int, status redlatch.Status) string {
	if n == 1 && len(status.Holders) == 1 {
		return protocol.Show(status.Holders[0].Owner)
	}
	return count(n, "owner")
}

// unlockReport is an outcome for scripts. docs/cli.md describes the fields, which stay.
type unlockReport struct {
	Lock   string       `json:"lock"`
	Result string       `json:"result"`
	Before statusReport `json:"before"`
}

// report prints an outcome.
func (u *unlocking) report(result string, before redlatch.Status, text string) error {
	if u.asJSON {
		return printJSON(u.cmd.OutOrStdout(), unlockReport{protocol.Argument(u.name), result, newStatusReport(u.name, before)})
	}
	return u.say(text)
}

// say prints a line about the lock.
func (u *unlocking) say(text string) error {
	_, err := fmt.Fprintf(u.cmd.OutOrStdout(), "%s: %s\n", protocol.Show(u.name), text)
	return err
}

// left reports a lock that was left alone.
func (u *unlocking) left(status redlatch.Status, format string, args ...any) error {
	if u.asJSON {
		if err := u.report("left", status, ""); err != nil {
			return err
		}
	}
	return exit(exitHeld, "lock %q "+format, append([]any{u.name}, args...)...)
}

// returned reports a lock that those who were asked have given back.
func (u *unlocking) returned() error {
	return u.report("returned", u.seen, "given back; it was "+describe(u.seen))
}

// free reports a lock that nobody holds, so that the owner of --if-owner does not either.
func (u *unlocking) free() error {
	if u.owner != "" {
		return u.left(redlatch.Status{}, "is not held by %s: it is free", protocol.Show(u.owner))
	}
	return u.report("free", redlatch.Status{}, "it was free already")
}

// confirmed asks at the terminal. Only "y" and "yes" mean yes.
func (u *unlocking) confirmed() bool {
	fmt.Fprintf(u.cmd.ErrOrStderr(), "Lock %q is %s.\n%sIts holder works on until its next renewal. Take it away? [y/N] ", u.name, describe(u.seen), details(u.seen))
	answer, err := bufio.NewReader(u.cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// forceable is what every single lock can do for an operator.
type forceable interface {
	Recall(ctx context.Context, owner, reason string) (bool, error)
	ForceUnlock(ctx context.Context) (bool, error)
	ForceUnlockIf(ctx context.Context, owner string) (bool, error)
}

// lock is the lock, of the kind that was seen.
func (u *unlocking) lock() forceable {
	switch {
	case u.seen.Mode != redlatch.ModeExclusive:
		return u.client.RWMutex(u.name)
	case len(u.seen.Queue) > 0:
		return u.client.FairMutex(u.name) // tells the next in the queue
	}
	return u.client.Mutex(u.name)
}

// whole says that the lock is to be freed, whoever holds it by now.
func (u *unlocking) whole() bool { return u.yes && u.owner == "" && !u.asks }

// take frees the lock, or takes it from those owners that were asked, or that --if-owner or the terminal has named, and
// from no other: each script compares. It returns from how many owners.
func (u *unlocking) take(ctx context.Context) (from int, err error) {
	lock := u.lock()
	if u.whole() {
		forced, err := lock.ForceUnlock(ctx)
		return map[bool]int{true: u.seen.Owners}[forced], err
	}
	done := make(map[string]bool) // a writer may read as well
	for _, h := range u.seen.Holders {
		if done[h.Owner] || u.yes && u.owner == "" && !u.wasAsked(h.Owner) {
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
func (u *unlocking) changed(ctx context.Context) error {
	status, err := readStatus(ctx, u.client, u.name)
	switch {
	case err != nil:
		return failed(err)
	case u.asked != nil:
		return u.returned()
	case !status.Locked:
		return u.free()
	}
	return u.left(status, "is %s by now; it was left alone", describe(status))
}
