package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

func newStatus() *cobra.Command {
	var s server
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status NAME…",
		Short: "Say who holds locks, for how much longer, and who waits",
		Long: `status prints the owner of each lock NAME, its count, and the time to live of
the lock. It prints each reader of a read-write lock, or the writer. It prints
the queue of a fair lock. Redis has no record of those who wait for other locks.
status changes nothing.

With --json it prints one object a line, in the order of the names. Times are in
milliseconds. -1 means a key without expiry.

Exit code:
  0   each lock is held or free
  2   the command line is wrong
  70  Redis failed, or a key is no lock. The other locks are printed`,
		Example: "  redlatch status nightly-report\n  redlatch status --json nightly-report | jq .locked",
		Args:    someNames,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := checkStdout(); err != nil {
				return err
			}
			return s.with(cmd.Context(), func(client *redlatch.Client) error { return printAll(cmd, client, names, asJSON) })
		},
	}
	s.register(cmd)
	jsonVar(cmd, &asJSON)
	return cmd
}

// printAll prints the status of each lock. Locks that cannot be read do not keep it from the rest; the last of their
// errors is returned.
func printAll(cmd *cobra.Command, client *redlatch.Client, names []string, asJSON bool) (last error) {
	for _, name := range names {
		status, err := readStatus(cmd.Context(), client, name)
		if err == nil {
			text := protocol.Show(name) + ": " + describe(status) + "\n" + details(status)
			if err := printAs(cmd.OutOrStdout(), asJSON, newStatusReport(name, status), text); err != nil {
				return err
			}
			continue
		}
		if last != nil {
			tell(last)
		}
		last = failed(err)
	}
	return last
}

// oneName checks that a verb got the name of one lock.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit(exitUsage, "one NAME: redlatch %s", cmd.Use)
	}
	return nil
}

// someNames checks that a verb got names of locks.
func someNames(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exit(exitUsage, "one NAME or several: redlatch %s", cmd.Use)
	}
	return nil
}

// readStatus reads the status of a lock of any kind. A mutex is a fair lock without a queue.
func readStatus(ctx context.Context, client *redlatch.Client, name string) (redlatch.Status, error) {
	return readStatusOf(ctx, client, name, "")
}

// readStatusOf is readStatus that names no other reader than owner. A list of all may be cut, so it
// does not say whether one owner holds the lock.
func readStatusOf(ctx context.Context, client *redlatch.Client, name, owner string) (redlatch.Status, error) {
	status, err := client.FairMutex(name).Status(ctx)
	if errors.Is(err, redlatch.ErrInvalidName) { // the queue of {x} is that of x
		status, err = client.Mutex(name).Status(ctx)
	}
	if errors.Is(err, redlatch.ErrWrongType) {
		if other, err := client.RWMutex(name).StatusOf(ctx, owner); err == nil {
			return other, nil
		}
	}
	return status, ofKind(ctx, client.Driver(), name, err)
}

// holderIn is an owner among the holders, nil if it is not named.
func holderIn(status redlatch.Status, owner string) *redlatch.Holder {
	for i := range status.Holders {
		if status.Holders[i].Owner == owner {
			return &status.Holders[i]
		}
	}
	return nil
}

// describe is a status in words, on one line.
func describe(status redlatch.Status) string {
	n := status.Owners
	switch {
	case !status.Locked:
		return "free"
	case status.Mode == "read" && n > 1:
		return fmt.Sprintf("held by %d readers, %s", n, left(status.TTL))
	case n > 2 || len(status.Holders) < n: // a writer reads beside itself, and nobody else does
		return fmt.Sprintf("held by %d owners, %s", n, left(status.TTL))
	}
	var holders []string
	for _, h := range status.Holders {
		text := fmt.Sprintf("%s, count %d", shown(h.Owner, h.Name), h.Count)
		if status.Mode != "exclusive" {
			text += map[bool]string{true: ", writing", false: ", reading"}[h.Write]
		}
		holders = append(holders, text)
	}
	return "held by " + strings.Join(holders, "; ") + ", " + left(status.TTL)
}

// details are a line for each of several holders, for what stands beside a holder, and for each waiter.
func details(status redlatch.Status) string {
	var lines strings.Builder
	for _, h := range status.Holders {
		if status.Owners > 1 {
			fmt.Fprintf(&lines, "  %-5s %s, count %d, %s\n", map[bool]string{true: "write", false: "read"}[h.Write], shown(h.Owner, h.Name), h.Count, left(h.TTL))
		}
		if h.Note != "" {
			fmt.Fprintf(&lines, "  note  %s\n", protocol.Show(h.Note))
		}
		if h.Recall != nil {
			fmt.Fprintf(&lines, "  asked by %s: %s, and %s\n", protocol.Show(h.Recall.Author), protocol.Show(h.Recall.Reason), map[bool]string{true: "knows it", false: "not told yet"}[h.Told])
		}
	}
	if more := status.Owners - len(status.Holders); more > 0 {
		fmt.Fprintf(&lines, "  and %d more\n", more)
	}
	for i, w := range status.Queue {
		fmt.Fprintf(&lines, "  waits %d. %s, counts as alive until %s\n", i+1, shown(w.Owner, w.Name), w.Deadline.UTC().Format(time.RFC3339))
	}
	return lines.String()
}

// shown is an owner, with the name of its client if that is known.
func shown(owner, name string) string {
	if name == "" {
		return protocol.Show(owner)
	}
	return protocol.Show(owner) + " (" + protocol.Show(name) + ")"
}

// left is a remaining time to live in words.
func left(ttl time.Duration) string {
	if ttl < 0 {
		return "without end"
	}
	return ttl.Round(100*time.Millisecond).String() + " left"
}
