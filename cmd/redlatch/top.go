package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redlatch/redlatch/inspect"
)

func newTop() *cobra.Command {
	var f inspecting
	cmd := &cobra.Command{
		Use:   "top [PATTERN]",
		Short: "Show the locks live",
		Long: `top shows the locks as ls does, and refreshes the list. Locks with findings come
first, then those that most processes wait for. q or Ctrl-C ends top. It changes
nothing.

top reads the known locks once every --every, and uses the rest of the time to
look for new ones. If the known locks need all of the time, it looks for new
ones for up to twice as long as it reads. On a server with many keys it shows
the first locks soon. It says so while the list is not complete.

If stdout is no terminal, top prints a table at each look. With --json it prints
one object a line at each look: the time, the locks, and the events since the
last look.

Exit code:
  0   q, SIGINT, SIGTERM or --count ended it
  2   the command line is wrong
  70  Redis failed before the first look, or refused a right`,
		Example: "  redlatch top\n  redlatch top --json --count 1 'orders:*'",
		Args:    onePattern,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.live(cmd, func(ctx context.Context, i *inspect.Inspector) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return f.top(cmd, cancel, i.Follow(ctx, patternOf(args), f.every))
		})
	}
	f.register(cmd)
	f.registerLive(cmd, "looks", time.Second)
	return cmd
}

// top shows looks until they end. A failure after the first one is shown: Redis may come back.
func (f *inspecting) top(cmd *cobra.Command, cancel context.CancelFunc, looks iter.Seq2[inspect.Snapshot, error]) error {
	show, fail := f.printLook, f.tellOnce
	if term.IsTerminal(int(os.Stdout.Fd())) && !f.asJSON {
		s := openScreen(cancel)
		defer s.close()
		show, fail = s.draw, s.fail
	}
	seen := 0
	for one, err := range looks {
		switch {
		case err != nil && (seen == 0 || isDenied(err)):
			return failed(err)
		case err != nil:
			fail(err)
			continue
		}
		slices.SortStableFunc(one.Locks, byUrgency)
		if err := show(cmd, one); err != nil {
			return err
		}
		if seen++; seen == f.count {
			return nil
		}
	}
	return nil
}

// byUrgency puts the locks first that somebody should look at.
func byUrgency(a, b inspect.Lock) int {
	return cmp.Or(
		cmp.Compare(min(len(b.Findings), 1), min(len(a.Findings), 1)),
		cmp.Compare(max(b.Waiting, b.Queued), max(a.Waiting, a.Queued)),
		cmp.Compare(a.Name, b.Name),
	)
}

// printLook prints a look where there is no terminal.
func (f *inspecting) printLook(cmd *cobra.Command, one inspect.Snapshot) error {
	return f.print(cmd, one, summary(one)+"\n"+lockTable(one.Locks, brief)+"\n")
}

// summary is a snapshot on one line.
func summary(s inspect.Snapshot) string {
	waiting, findings := 0, 0
	for _, l := range s.Locks {
		waiting += max(l.Waiting, l.Queued, 0)
		findings += len(l.Findings)
	}
	text := fmt.Sprintf("%s  locks: %d  waiting: %d  findings: %d", timeOfDay(s.At), len(s.Locks), waiting, findings)
	if !s.Walked {
		text += "  (still looking for locks)"
	}
	return text
}

// timeOfDay is a moment of today.
func timeOfDay(t time.Time) string { return t.Local().Format("15:04:05.000") }
