package main

import (
	"context"
	"flag"
	"fmt"
	"os"
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
		redistest.Main(m)
	}
	if os.Getenv(brokenLock) != "" {
		demoLock = func(client *redlatch.Client, name string, _ bool) redlatch.Lock {
			return client.Mutex(fmt.Sprintf("%s:%d", name, os.Getpid()))
		}
	}
	os.Exit(run(context.Background(), os.Args[1:]))
}
