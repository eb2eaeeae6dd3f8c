package single_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// slack is what a very busy test machine may add to a bound. The exact bounds
// are checked in bubbles (bubble_test.go), where no machine is busy.
const slack = 1500 * time.Millisecond

// errRefused is what the kernel says when nobody listens.
var errRefused error = syscall.ECONNREFUSED

// soon is enough for everything that should just happen.
const soon = 10 * time.Second

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

func command(words ...string) driver.Command { return driver.Command{Words: words} }

// do sends a command that has to succeed.
func do(t testing.TB, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.Do(context.Background(), command(words...))
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}

// wantUnknown checks the error of a command that may have been carried out.
func wantUnknown(t testing.TB, err error) {
	t.Helper()
	var refused *driver.ServerError
	if err == nil || errors.Is(err, driver.ErrNotSent) || errors.As(err, &refused) {
		t.Errorf("error %v, want one that leaves the outcome open", err)
	}
}

// wantNotSent checks the error of a command that certainly was not.
func wantNotSent(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("error %v, want ErrNotSent", err)
	}
}

// wantNoContextError checks that an error is not mistaken for the end of the
// caller's context.
func wantNoContextError(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v is a context's, but not this caller's", err)
	}
}

// wantTook checks how long something took.
func wantTook(t testing.TB, begin time.Time, limit time.Duration, what string) {
	t.Helper()
	if took := time.Since(begin); took > limit+slack {
		t.Errorf("%s took %v, want %v at most", what, took, limit)
	}
}

// eventuallyWorks waits until a command succeeds again.
func eventuallyWorks(t testing.TB, d driver.Driver) {
	t.Helper()
	redistest.Eventually(t, soon, func() bool {
		return d.Do(context.Background(), command("PING")).Err == nil
	}, "commands work again")
}

// within receives what should come at once.
func within[T any](t testing.TB, values <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-values:
	case <-time.After(soon):
		t.Fatalf("not within %v: %s", soon, what)
	}
	return value
}
