// Command redlatch shares locks among processes through Redis: see redlatch help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redlatch/redlatch/internal/protocol"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:]))
}

// run carries out one command line and returns the exit code of the process. It does not
// return if a signal is to end the process.
func run(ctx context.Context, args []string) int {
	var out stdout
	root := newRoot(&out)
	root.SetArgs(args)
	asFlock(root, args)
	err := noTicket(args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if out.err != nil {
		err = exit(exitFailure, "%w", out.err)
	}
	if err == nil {
		return 0
	}
	if death, is := errors.AsType[*signalError](err); is {
		death.die()
	}
	if exit, is := errors.AsType[*exitError](err); is {
		if exit.err != nil {
			tell(exit.err)
		}
		return exit.code
	}
	tell(err)
	return exitUsage
}

// tell writes one line about what went wrong. The library's errors begin with the
// library's name, which is the command's.
func tell(err error) {
	fmt.Fprintln(os.Stderr, "redlatch:", protocol.Line(strings.TrimPrefix(err.Error(), "redlatch: ")))
}
