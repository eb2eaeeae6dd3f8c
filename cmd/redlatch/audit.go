package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

func newAudit() *cobra.Command {
	var f inspecting
	var permits bool
	cmd := &cobra.Command{
		Use:   "audit [PATTERN]",
		Short: "Find what is wrong with the locks",
		Long: `audit reads all locks as ls does, and prints what is wrong with them. For each
finding it prints a line, with its code and what to do. It also finds timeout
keys of readers that do not hold the lock. audit changes nothing.

audit finds a holder without a connection only if the holder is a redlatch
client with a session (--protect). Redis does not know whether any other process
lives.

With --permits audit looks at semaphores with leased permits instead of locks.

With --json audit prints one object a line for each lock or semaphore that has
findings.

Exit code:
  0   nothing is wrong
  1   there are findings
  2   the command line is wrong
  70  Redis failed, or refused a part. audit prints what it has found`,
		Example: "  redlatch audit\n  redlatch audit --json 'orders:*'",
		Args:    onePattern,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, func(ctx context.Context, i *inspect.Inspector) error {
			if permits {
				return audit(&f, cmd, i.Permits(ctx, patternOf(args)), aboutCounter)
			}
			return audit(&f, cmd, i.Audit(ctx, patternOf(args)), aboutLock)
		})
	}
	f.register(cmd)
	permitsVar(cmd, &permits)
	return cmd
}

// audit prints findings. An error is worse than a finding: it decides the exit code.
func audit[T any](f *inspecting, cmd *cobra.Command, found iter.Seq2[T, error], about func(T) (string, []inspect.Finding)) error {
	any := false
	for one, err := range found {
		name, findings := about(one)
		switch {
		case err != nil && len(findings) == 0:
			f.fail(err)
			continue
		case len(findings) == 0:
			continue
		}
		any = true
		var text strings.Builder
		for _, finding := range findings {
			fmt.Fprintf(&text, "%s: %s: %s\n", protocol.Show(name), finding.Code, finding.Text)
		}
		if err := f.print(cmd, one, text.String()); err != nil {
			return err
		}
	}
	if any && f.failure == nil {
		return &exitError{code: exitFindings}
	}
	return nil
}
