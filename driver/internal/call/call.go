// Package call has what several drivers need for a call: its bound, its errors, the pauses
// between attempts to connect, and the yield that lets calls share a write.
package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// DefaultTimeout is the command timeout if the options set none.
const DefaultTimeout = 3 * time.Second

// Cause is why a driver ended a context by itself.
type Cause string

func (c Cause) Error() string { return string(c) }

const (
	// ErrClosed is the reason of failures after Close of a driver.
	ErrClosed = Cause("driver closed")
	// ErrListenerClosed is the reason of failures after Close of a listener.
	ErrListenerClosed = Cause("listener closed")
)

// NoAnswer is the cause if a timeout of the driver has passed.
type NoAnswer time.Duration

func (n NoAnswer) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(n)) }

// Timeout returns the command timeout for an option.
func Timeout(option time.Duration) (time.Duration, error) {
	if option < 0 {
		return 0, &driver.OptionError{Option: "CommandTimeout", Reason: fmt.Sprintf("%v is negative", option)}
	}
	return cmp.Or(option, DefaultTimeout), nil
}

// Bound is ctx, which ends by NoAnswer at the latest when the timeout of a call that began
// then has passed.
func Bound(ctx context.Context, began time.Time, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, began.Add(timeout), NoAnswer(timeout))
}

// Undated is ctx without its deadline, which client libraries take for that of the whole connection. The end
// of ctx reaches them all the same.
func Undated(ctx context.Context) context.Context {
	if _, dated := ctx.Deadline(); dated {
		return undated{ctx}
	}
	return ctx
}

type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Ended says why ctx has ended: the cause if a driver ended it, and the context's error
// otherwise. It is nil as long as ctx lasts.
func Ended(ctx context.Context) error {
	err := ctx.Err() // before the cause, which may come between the two
	if err == nil {
		return nil
	}
	switch cause := context.Cause(ctx).(type) {
	case Cause, NoAnswer:
		return cause
	}
	return err
}

// Check says why none of the commands can be sent, nil if all can.
func Check(ctx context.Context, commands ...driver.Command) error {
	for _, command := range commands {
		if err := check(command); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func check(command driver.Command) error {
	if len(command.Words) == 0 || command.Words[0] == "" {
		return errors.New("command without a name")
	}
	if name := command.Words[0]; strings.HasSuffix(strings.ToUpper(name), "SUBSCRIBE") {
		return fmt.Errorf("%s belongs on a listener", name)
	}
	return nil
}

// FailAll gives n commands the same error.
func FailAll(n int, err error) []driver.Reply {
	return slices.Repeat([]driver.Reply{{Err: err}}, n)
}
