package single_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
)

// The exact bounds are checked in bubbles (bubble_test.go), where no machine is busy.
const soon, slack = drivercheck.Soon, drivercheck.Slack

var (
	command, do, eventuallyWorks = drivercheck.Command, drivercheck.Do, drivercheck.EventuallyWorks
	wantUnknown, wantNotSent     = drivercheck.WantUnknown, drivercheck.WantNotSent
	wantNoContextError           = drivercheck.WantNoContextError
)

// errRefused is what the kernel says when nobody listens.
var errRefused error = syscall.ECONNREFUSED

// open connects until the end of the test.
func open(t testing.TB, options single.Options) *single.Driver {
	t.Helper()
	d, err := single.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// wantTook checks how long something took.
func wantTook(t testing.TB, begin time.Time, limit time.Duration, what string) {
	t.Helper()
	if took := time.Since(begin); took > limit+slack {
		t.Errorf("%s took %v, want %v at most", what, took, limit)
	}
}
