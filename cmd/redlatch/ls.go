package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
)

func newList() *cobra.Command {
	var f inspecting
	var permits bool
	cmd := &cobra.Command{
		Use:   "ls [PATTERN]",
		Short: "List the locks, without knowing their names",
		Long: `ls finds the locks of redlatch and of Redisson by their shape. It prints a line
for each lock: who holds it, for how much longer, how many processes wait, and
what is wrong with it. ls changes nothing.

ls walks through all keys in small steps (SCAN), also in a Cluster. Redis serves
other clients between the steps.

PATTERN is a glob pattern of Redis, such as 'orders:*'. Without a special
character it is the name of one lock.

With --permits ls lists semaphores with leased permits instead of locks: how
many permits are available, used and there are, the TTL of the permit that
expires first, and how many processes wait. ls does not find a semaphore whose
permits are all available, nor one without leases: in Redis that is nothing but
a number. If PATTERN is a name, ls prints the number of that name, whatever it
counts.

With --json ls prints one object a line, as soon as it finds it.

Exit code:
  0   the list is complete, apart from keys that this user may not read
  2   the command line is wrong
  70  Redis failed, or refused a part. ls prints what it has found`,
		Example:           "  redlatch ls\n  redlatch ls --json 'orders:*' | jq -r .lock",
		Args:              onePattern,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, func(ctx context.Context, i *inspect.Inspector) error {
			if permits {
				return f.listPermits(cmd, i.Permits(ctx, patternOf(args)))
			}
			return f.list(cmd, i.Locks(ctx, patternOf(args)))
		})
	}
	f.register(cmd)
	permitsVar(cmd, &permits)
	return cmd
}

// list prints locks as they are found, or all of them as a table.
func (f *inspecting) list(cmd *cobra.Command, found func(yield func(inspect.Lock, error) bool)) error {
	var all []inspect.Lock
	for l, err := range found {
		if errors.Is(err, redlatch.ErrWrongType) {
			err = fmt.Errorf("%w; redlatch show says what it has", err)
		}
		if err != nil {
			f.fail(err)
			continue
		}
		if !f.asJSON {
			all = append(all, l)
		} else if err := printJSON(cmd.OutOrStdout(), l); err != nil {
			return err
		}
	}
	if f.asJSON {
		return nil
	}
	slices.SortFunc(all, func(a, b inspect.Lock) int { return cmp.Compare(a.Name, b.Name) })
	text := table(all)
	switch {
	case len(all) == 0 && f.failure != nil:
		return nil // nobody knows
	case len(all) == 0:
		text = "no locks\n"
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}
