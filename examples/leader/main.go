// Command leader shows an election: three processes stand for it, the leader is killed twice, and
// another one takes over each time. At the end the last leader resigns. It needs no server:
//
//	go run ./examples/leader
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
		err = stand(ctx, url, os.Getenv(nameVariable), os.Stdin, os.Stdout)
	} else {
		err = show(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leader:", err)
		os.Exit(1)
	}
}

// These variables make the program one candidate.
const (
	urlVariable  = "REDLATCH_EXAMPLE_URL"
	nameVariable = "REDLATCH_EXAMPLE_NAME"
)

// lease is short, so that there is something to see.
const lease = time.Second

// screen prints lines with the time since the beginning.
type screen struct {
	out   io.Writer
	began time.Time
}

func (s screen) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%6.2fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}
