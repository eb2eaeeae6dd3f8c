package call_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// endsSoon is a context that ends right after the first look at its error.
type endsSoon struct {
	context.Context
	end    func()
	looked bool
}

func (e *endsSoon) Err() error {
	if !e.looked {
		e.looked = true
		defer e.end()
	}
	return e.Context.Err()
}

// Goal: no caller takes the end of a driver's own timeout for the end of its own context. Method:
// the timeout passes between any two looks at the context.
func TestTheTimeoutOfADriverPassesBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	timeout := call.NoAnswer(time.Second)
	inner, end := context.WithCancelCause(t.Context())
	ctx := &endsSoon{Context: inner, end: func() { end(timeout) }}
	if err := call.Ended(ctx); err != nil && err != timeout {
		t.Errorf("Ended is %v, want nil or %v", err, timeout)
	}
	if err := call.Ended(ctx); err != timeout || errors.Is(err, context.Canceled) {
		t.Errorf("Ended is %v afterwards, want %v", err, timeout)
	}
}
