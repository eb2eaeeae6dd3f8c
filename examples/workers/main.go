// Command workers shows a pool: a hundred workers in four processes share a few permits, so only a few of them
// work at a time. One process is killed, and its permits come back. The pool is made larger, and then smaller
// than what is in use. It needs no server:
//
//	go run ./examples/workers
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var err error
	if url := os.Getenv(urlVariable); url != "" {
		err = work(ctx, url, os.Stdin, os.Stdout)
	} else {
		err = show(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "workers:", err)
		os.Exit(1)
	}
}

// This variable makes the program one process of the pool.
const urlVariable = "REDLATCH_EXAMPLE_URL"

const (
	workers = 25          // in each process
	permits = 5           // at first
	lease   = time.Second // short, so that there is something to see
	pool    = "desks"     // the name of the semaphore
)

// screen prints lines with the time since the beginning.
type screen struct {
	out   io.Writer
	began time.Time
}

func (s screen) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%6.2fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}
