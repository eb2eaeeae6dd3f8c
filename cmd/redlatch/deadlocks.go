package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/inspect/blocked"
	"github.com/redlatch/redlatch/internal/protocol"
)

// deadlockFlags are the flags of deadlocks.
type deadlockFlags struct {
	inspecting
	tree bool
}

func newDeadlocks() *cobra.Command {
	var f deadlockFlags
	cmd := &cobra.Command{
		Use:   "deadlocks [PATTERN…]",
		Short: "Find processes that wait for each other's locks",
		Long: `deadlocks reads who waits for whom, and prints each cycle: processes that wait
for each other's locks until one of them gives up. With --tree it also prints
who blocks whom, the root blocker first. It changes nothing.

deadlocks sees two kinds of waits:

  - Waits of clients with Config.Protect, and of redlatch run --protect. Such a
    client reports a wait that has lasted for longer than a sixth of its lease.
  - The queues of fair locks that such a client holds or waits for, or that
    PATTERN names. PATTERN is a name, or a glob pattern of Redis such as
    'orders:*'. For a glob pattern deadlocks walks through all keys.

deadlocks does not see other waits. Examples are those of clients without
Config.Protect, and of Java threads for locks that are not fair.

A cycle is certain if each waiter is known to hold the lock that the waiter
before it wants, and all waits are known to have gone on at one moment.
Otherwise it is possible: another goroutine may release a lock, or one wait may
have ended before another began. Then look again after a sixth of the lease.

With --json deadlocks prints one object a line: the cycles, with --tree the
blockers, and at the end a summary.

Exit code:
  0   there is no cycle among the waits that were seen
  1   there is a cycle, certain or possible
  2   the command line is wrong
  70  not all was read: Redis failed, refused a part, or there is too much.
      deadlocks prints what it has found`,
		Example: "  redlatch deadlocks --tree\n  redlatch deadlocks '*'\n  redlatch deadlocks --json | jq 'select(.kind == \"cycle\")'",
		Args:    namesOrPatterns,
	}
	cmd.RunE = func(cmd *cobra.Command, patterns []string) error {
		return f.run(cmd, func(ctx context.Context, i *inspect.Inspector) error {
			graph, err := blocked.Read(ctx, f.driver, blocked.Options{Locks: f.namesOf(ctx, i, patterns), Rate: f.config.Rate})
			switch {
			case err != nil:
				f.fail(err)
			case graph.LeftOut:
				f.fail(errLeftOut)
			}
			return f.print(cmd.OutOrStdout(), graph)
		})
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.tree, "tree", false, "print who blocks whom, too")
	return cmd
}

var errLeftOut = errors.New("not all was read: there are too many waits, or some are invalid")

// namesOrPatterns refuses a name that no lock can have. An empty one is often a shell variable that is not set.
func namesOrPatterns(_ *cobra.Command, args []string) error {
	for _, arg := range args {
		if err := protocol.CheckName(arg); isName(arg) && err != nil {
			return exit(exitUsage, "%w", err)
		}
	}
	return nil
}

// isName says that an argument has no special character of a pattern.
func isName(arg string) bool { return !strings.ContainsAny(arg, `*?[\`) }

// namesOf are names, and the locks with a queue that patterns find.
func (f *deadlockFlags) namesOf(ctx context.Context, i *inspect.Inspector, patterns []string) (names []string) {
	for _, pattern := range patterns {
		if isName(pattern) {
			names = append(names, pattern)
			continue
		}
		for l, err := range i.Locks(ctx, pattern) {
			if err != nil {
				f.fail(err)
			}
			if l.Queued > 0 {
				names = append(names, l.Name)
			}
		}
	}
	return names
}

// print prints the cycles, and the tree if it is asked for. The exit code says whether there are cycles, unless
// not all was read.
func (f *deadlockFlags) print(out io.Writer, graph blocked.Graph) error {
	cycles := graph.Cycles()
	var roots []blocked.Blocker
	if f.tree {
		roots = graph.Tree()
	}
	var err error
	if f.asJSON {
		err = printGraphJSON(out, graph, cycles, roots)
	} else if len(graph.Edges) > 0 || f.failure == nil { // otherwise nobody knows
		_, err = io.WriteString(out, describeCycles(graph, cycles)+describeTree(graph, roots)+graphSummary(graph, cycles))
	}
	if err == nil && len(cycles) > 0 && f.failure == nil {
		return &exitError{code: exitHeld}
	}
	return err
}

// cycleReport, blockerReport and graphReport are lines for scripts. docs/cli.md describes the fields,
// which stay.
type cycleReport struct {
	Kind string `json:"kind"` // "cycle"
	blocked.Cycle
}

type blockerReport struct {
	Kind string `json:"kind"` // "blocker"
	blocked.Blocker
}

type graphReport struct {
	Kind    string    `json:"kind"` // "summary"
	Clients int       `json:"clients"`
	Waits   int       `json:"waits"`
	Cycles  int       `json:"cycles"`
	LeftOut bool      `json:"left_out"`
	Now     time.Time `json:"now"`
}

func printGraphJSON(out io.Writer, graph blocked.Graph, cycles []blocked.Cycle, roots []blocked.Blocker) error {
	var reports []any
	for _, c := range cycles {
		reports = append(reports, cycleReport{"cycle", c})
	}
	for _, b := range roots {
		b.Owner, b.Client = protocol.Argument(b.Owner), protocol.Argument(b.Client)
		reports = append(reports, blockerReport{"blocker", b})
	}
	reports = append(reports, graphReport{"summary", graph.Clients, waitsOf(graph), len(cycles), graph.LeftOut, graph.Now.UTC()})
	return printJSON(out, reports...)
}

// describeCycles are the cycles in words.
func describeCycles(graph blocked.Graph, cycles []blocked.Cycle) string {
	var text strings.Builder
	for _, c := range cycles {
		text.WriteString(map[bool]string{true: "deadlock:\n", false: "possible deadlock: another goroutine may release a lock, or a wait may have ended; look again\n"}[c.Sure])
		for _, e := range c.Edges {
			fmt.Fprintf(&text, "  %s waits for %s%s, held by %s%s\n", who(e.Waiter), lockOf(e), since(graph, e), who(e.Holder), at(e.Holder))
		}
		last := c.Edges[len(c.Edges)-1]
		fmt.Fprintf(&text, "  one of them has to give up: end its process, or take its lock away:\n  %s\n", protocol.UnlockCommand(last.Holder.Owner, last.Lock))
	}
	return text.String()
}

// describeTree is who blocks whom in words.
func describeTree(graph blocked.Graph, roots []blocked.Blocker) string {
	var text strings.Builder
	var below func(depth int, all []blocked.Blocked)
	below = func(depth int, all []blocked.Blocked) {
		for _, b := range all {
			again := ""
			if b.Again {
				again = ", as above"
			}
			fmt.Fprintf(&text, "%s%s waits for %s%s%s\n", strings.Repeat("  ", depth), who(b.Waiter), lockOf(b.Edge), since(graph, b.Edge), again)
			below(depth+1, b.Blocks)
		}
	}
	for _, root := range roots {
		fmt.Fprintf(&text, "%s%s blocks\n", who(root.Party), at(root.Party))
		below(1, root.Blocks)
		for _, e := range root.Waits {
			fmt.Fprintf(&text, "  (another goroutine of its process waits for %s%s)\n", lockOf(e), since(graph, e))
		}
	}
	return text.String()
}

// waitsOf is how many waits were seen. The graph has an edge for each holder that one waits for.
func waitsOf(graph blocked.Graph) int {
	waits := make(map[[2]string]bool)
	for _, e := range graph.Edges {
		waits[[2]string{e.Lock, e.Waiter.Owner}] = true
	}
	return len(waits)
}

// graphSummary says what was seen.
func graphSummary(graph blocked.Graph, cycles []blocked.Cycle) string {
	text := fmt.Sprintf("%s among %s\n", count(len(cycles), "cycle"), count(waitsOf(graph), "wait"))
	if graph.Clients == 0 {
		text += "no client is protected, so only the queues of the fair locks that are named were seen\n"
	}
	if graph.LeftOut {
		text += "not all was read\n"
	}
	return text
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func who(p blocked.Party) string { return shown(p.Owner, p.Name) }

// at is where a process connects from, if that is known.
func at(p blocked.Party) string {
	if p.Addr == "" {
		return ""
	}
	return " at " + protocol.Show(p.Addr)
}

func lockOf(e blocked.Edge) string {
	side := map[blocked.Mode]string{blocked.ModeRead: " (to read)", blocked.ModeWrite: " (to write)"}[e.Mode]
	return protocol.Show(e.Lock) + side
}

// since is for how long somebody has waited, if that is known.
func since(graph blocked.Graph, e blocked.Edge) string {
	if e.Since.IsZero() {
		return ""
	}
	return " for " + max(graph.Now.Sub(e.Since), 0).Round(time.Second).String()
}
