package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/inspect"
)

func newList() *cobra.Command {
	var f inspecting
	var permits bool
	cmd := &cobra.Command{
		Use:   "ls [PATTERN]",
		Short: "List the locks, without knowing their names",
		Long: `ls finds the locks of redlatch and of Redisson by their shape. It prints a line
for each lock: who holds it, for how much longer, how many processes wait, what
the holder says of its hold, and what is wrong with the lock. A note that begins
with "recalled" says that somebody has asked for the lock. ls changes nothing.

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
		Example: "  redlatch ls\n  redlatch ls --json 'orders:*' | jq -r .lock",
		Args:    onePattern,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, func(ctx context.Context, i *inspect.Inspector) error {
			if permits {
				return list(&f, cmd, i.Permits(ctx, patternOf(args)), aboutCounter, permitTable, "no permits in use\n")
			}
			return list(&f, cmd, i.Locks(ctx, patternOf(args)), aboutLock, lockTable, "no locks\n")
		})
	}
	f.register(cmd)
	permitsVar(cmd, &permits)
	return cmd
}

// list prints what a walk finds as it is found, or all of it as a table.
func list[T any](f *inspecting, cmd *cobra.Command, found iter.Seq2[T, error], about func(T) (string, []inspect.Finding), table func(all []T, shown func(name string) string) string, none string) error {
	var all []T
	for one, err := range found {
		name, _ := about(one)
		if err != nil {
			f.fail(ofKind(cmd.Context(), f.driver, name, err))
			continue
		}
		if !f.asJSON {
			all = append(all, one)
		} else if err := printJSON(cmd.OutOrStdout(), one); err != nil {
			return err
		}
	}
	if f.asJSON || len(all) == 0 && f.failure != nil { // nobody knows
		return nil
	}
	slices.SortFunc(all, func(a, b T) int {
		first, _ := about(a)
		second, _ := about(b)
		return cmp.Compare(first, second)
	})
	text := none
	if len(all) > 0 {
		text = table(all, whole)
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}

func aboutLock(l inspect.Lock) (name string, findings []inspect.Finding) { return l.Name, l.Findings }

func aboutCounter(c inspect.Counter) (name string, findings []inspect.Finding) {
	return c.Name, c.Findings
}
