package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The test binary is the command itself when a test starts it with asCommand in its
// environment, race detector included. The processes that it starts in turn inherit
// that.
const (
	asCommand  = "REDLATCH_TEST_COMMAND"
	brokenLock = "REDLATCH_TEST_BROKEN_LOCK" // each worker of the demonstration locks another name
)

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		// Most of these tests wait, for leases to end and processes to leave: more of them
		// go side by side than there are processors.
		flag.Parse()
		flag.Set("test.parallel", "4")
		inheritNoIgnoredSignal()
		redistest.Main(m)
	}
	if os.Getenv(brokenLock) != "" {
		demoLock = func(client *redlatch.Client, name string, _ bool) redlatch.Lock {
			return client.Mutex(fmt.Sprintf("%s:%d", name, os.Getpid()))
		}
	}
	os.Exit(run(context.Background(), os.Args[1:]))
}

// inheritNoIgnoredSignal has commands react to SIGINT and SIGHUP, also if the tests run in the
// background of a script, where they are ignored: a child inherits what is ignored, and not what
// is caught.
func inheritNoIgnoredSignal() {
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
