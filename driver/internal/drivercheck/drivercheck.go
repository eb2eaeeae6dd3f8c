// Package drivercheck has what the tests of several drivers share.
package drivercheck

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Soon is enough for everything that should just happen, Later for what servers have to agree upon first, and
// Slack is what a busy machine may add to a bound.
const (
	Soon  = 15 * time.Second
	Later = 30 * time.Second
	Slack = 1500 * time.Millisecond
)

// Command makes a Command whose key is its first argument, if it has any.
func Command(words ...string) driver.Command {
	c := driver.Command{Words: words}
	if len(words) > 1 {
		c.Key = words[1]
	}
	return c
}

// Do sends a command that has to succeed.
func Do(t testing.TB, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.Do(context.Background(), Command(words...))
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}

// WantUnknown checks the error of a command that may have been carried out.
func WantUnknown(t testing.TB, err error) {
	t.Helper()
	if _, ok := errors.AsType[*driver.ServerError](err); err == nil || errors.Is(err, driver.ErrNotSent) || ok {
		t.Errorf("error %v, want one that leaves the outcome open", err)
	}
}

// WantNotSent checks the error of a command that certainly was not.
func WantNotSent(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("error %v, want ErrNotSent", err)
	}
}

// WantNoContextError checks that an error is not mistaken for the end of the caller's context.
func WantNoContextError(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v is a context's, but not this caller's", err)
	}
}

// EventuallyWorks waits until a command succeeds again.
func EventuallyWorks(t testing.TB, d driver.Driver) {
	t.Helper()
	redistest.Eventually(t, Soon, func() bool { return d.Do(context.Background(), Command("PING")).Err == nil }, "commands work again")
}

// Within receives what should come at once.
func Within[T any](t testing.TB, values <-chan T, what string) (value T) {
	t.Helper()
	select {
	case value = <-values:
	case <-time.After(Soon):
		t.Fatalf("not within %v: %s", Soon, what)
	}
	return value
}

// Listen opens a listener until the end of the test.
func Listen(t testing.TB, d driver.Driver, events driver.Events) driver.Listener {
	t.Helper()
	l, err := d.Listen(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// ReplyOf is the reply that a JSON value stands for: a number, a text, or an array of them.
func ReplyOf(value any) driver.Reply {
	switch v := value.(type) {
	case float64:
		return driver.Reply{Int: int64(v)}
	case string:
		return driver.Reply{Str: v}
	case []any:
		var reply driver.Reply
		for _, element := range v {
			reply.Array = append(reply.Array, ReplyOf(element))
		}
		return reply
	}
	return driver.Reply{IsNil: true}
}
