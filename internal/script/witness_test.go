package script_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// witness passes everything through, and signals the error codes that come back.
type witness struct {
	driver.Driver
	codes chan string
}

func watch(d driver.Driver) *witness { return &witness{d, make(chan string, 10_000)} }

func (w *witness) note(replies ...driver.Reply) {
	for _, reply := range replies {
		var refused *driver.ServerError
		switch {
		case errors.As(reply.Err, &refused):
			w.codes <- refused.Code()
		case errors.Is(reply.Err, driver.ErrNotSent):
			w.codes <- "not sent"
		case reply.Err != nil:
			w.codes <- "lost"
		}
	}
}

func (w *witness) Do(ctx context.Context, command driver.Command) driver.Reply {
	reply := w.Driver.Do(ctx, command)
	w.note(reply)
	return reply
}

func (w *witness) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := w.Driver.Pipeline(ctx, commands...)
	w.note(replies...)
	return replies
}

// await waits until a request has come back with that code.
func (w *witness) await(t *testing.T, code string) {
	t.Helper()
	limit := time.After(20 * second)
	for {
		select {
		case got := <-w.codes:
			if got == code {
				return
			}
		case <-limit:
			t.Fatalf("no request came back with %s", code)
		}
	}
}

// begin runs calls on a goroutine; the returned function waits for the end.
func begin(runner *script.Runner, calls ...script.Call) func() ([]script.Result, error) {
	type outcome struct {
		results []script.Result
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		if len(calls) == 1 {
			result, err := runner.Run(context.Background(), calls[0])
			done <- outcome{[]script.Result{result}, err}
			return
		}
		results, err := runner.RunAll(context.Background(), calls...)
		done <- outcome{results, err}
	}()
	return func() ([]script.Result, error) {
		o := <-done
		return o.results, o.err
	}
}
