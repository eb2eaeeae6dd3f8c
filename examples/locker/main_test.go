package main

import (
	"os"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// The test binary is the command itself when a test starts it with asCommand in its
// environment, race detector included.
const asCommand = "LOCKER_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command(os.Args[1:]))
	}
	redistest.Main(m)
}
