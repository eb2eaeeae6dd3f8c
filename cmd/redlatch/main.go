// Command redlatch shares locks among processes through Redis: see redlatch help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:]))
}

// run carries out one command line and returns the exit code of the process.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.err != nil {
			fmt.Fprintln(os.Stderr, "redlatch:", exit.err)
		}
		return exit.code
	}
	fmt.Fprintln(os.Stderr, "redlatch:", err)
	return exitUsage
}
