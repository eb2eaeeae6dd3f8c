package script

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// UnknownError is the error of a call that was sent, or may have been, and whose
// reply did not come in time.
type UnknownError struct {
	Err error // what happened to the last request
}

// Error says what happened to the last request.
func (e *UnknownError) Error() string { return "no reply: " + e.Err.Error() }

// Unwrap returns what happened to the last request.
func (e *UnknownError) Unwrap() error { return e.Err }

// Runner sends calls and repeats them until they are answered.
type Runner struct {
	driver driver.Driver
	bound  time.Duration
	prompt bool // the driver ends a request within the bound by itself
}

// NewRunner returns a runner on d. It repeats a call for at most bound. A driver that
// says by a method CommandTimeout that it is no slower saves a timer for each request.
func NewRunner(d driver.Driver, bound time.Duration) *Runner {
	timed, ok := d.(interface{ CommandTimeout() time.Duration })
	return &Runner{driver: d, bound: bound, prompt: ok && timed.CommandTimeout() <= bound}
}

// limit is a context for one request that may take until the given moment.
func (r *Runner) limit(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
	if r.prompt {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, until)
}

// Result is the answer to one call.
type Result struct {
	// Reply is the server's. Its Err is nil or a *driver.ServerError, and any other only
	// if the call went aside and was not answered.
	Reply driver.Reply
	// Asked is the moment before the answered request left. What the reply says
	// about a lease may be trusted from here on, never from its arrival.
	Asked time.Time
	// Repeated says that an earlier request for the same call may have taken
	// effect, so that this reply may describe a state it has made itself.
	Repeated bool
}

// Or returns the error of the calls that were sent together, or nil if this one was
// answered all the same.
func (r Result) Or(err error) error {
	if r.Asked.IsZero() {
		return err
	}
	return nil
}

// Run sends one call until it is answered. It blocks for at most the bound of the
// runner, and no longer than ctx. The error is an *UnknownError if the call may
// have taken effect; otherwise it has not.
func (r *Runner) Run(ctx context.Context, call Call) (Result, error) {
	asked := time.Now()
	limited, cancel := r.limit(ctx, asked.Add(r.bound))
	reply := r.driver.Do(limited, call.command)
	cancel()
	if answered(reply.Err) {
		return Result{Reply: reply, Asked: asked}, nil
	}
	// The slow path, in a function of its own to keep this one cheap.
	results, err := r.repeat(ctx, []Call{call}, []driver.Reply{reply}, asked)
	return results[0], err
}

// RunAll sends calls in order, on one connection and in one write, until each is
// answered. It returns one result for each. When it fails, the error speaks for
// those that were not (Result.Or).
func (r *Runner) RunAll(ctx context.Context, calls ...Call) ([]Result, error) {
	commands := make([]driver.Command, len(calls))
	for i, call := range calls {
		commands[i] = call.command
	}
	asked := time.Now()
	limited, cancel := r.limit(ctx, asked.Add(r.bound))
	replies := r.driver.Pipeline(limited, commands...)
	cancel()
	return r.repeat(ctx, calls, replies, asked)
}

// repeat sends again what is not answered yet. Calls behind an unanswered one are
// sent again with it, answered or not, so that their order holds.
func (r *Runner) repeat(ctx context.Context, calls []Call, replies []driver.Reply, asked time.Time) ([]Result, error) {
	results := make([]Result, len(calls))
	bound := asked.Add(r.bound)
	open := 0 // calls before this one have their answer
	pause := firstPause
	var reason error
	for {
		settled := settled(calls[open:], replies)
		for i, reply := range replies[:settled] {
			results[open+i].Reply = reply
			if answered(reply.Err) {
				results[open+i].Asked = asked
			}
		}
		open += settled
		if open == len(calls) {
			return results, nil
		}
		replies = replies[settled:]
		for i, reply := range replies {
			if mayHaveRun(reply.Err) && !calls[open+i].aside {
				results[open+i].Repeated = true
			}
		}

		// A request that was cut off before it left knows less than the one before, unless
		// that one only found out that a script is not loaded yet.
		err := replies[0].Err
		cutOff := errors.Is(err, driver.ErrNotSent) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
		if reason == nil || !cutOff || isCode(reason, "NOSCRIPT") {
			reason = err
		}
		if !isCode(err, "NOSCRIPT") {
			if err := rest(ctx, pause, bound); err != nil {
				return results, failure(results[open:], reason)
			}
			pause = min(2*pause, lastPause)
		}

		commands := make([]driver.Command, len(replies))
		for i, reply := range replies {
			commands[i] = calls[open+i].command
			if isCode(reply.Err, "NOSCRIPT") {
				commands[i] = calls[open+i].withSource()
			}
		}
		// A script that is not loaded yet is no trouble, and needs no other bound than the
		// first request: a deadline may cost the driver its fastest way.
		limit := r.limit
		if !isCode(replies[0].Err, "NOSCRIPT") {
			limit = context.WithDeadline
		}
		limited, cancel := limit(ctx, bound)
		asked = time.Now()
		replies = r.driver.Pipeline(limited, commands...)
		cancel()
	}
}

// settled is how many of the first calls need no repetition. Those that go aside need
// none for their own sake, unless the server does not know their script; but what stands
// right before a call that is sent again, to be carried out before it, goes with it.
func settled(calls []Call, replies []driver.Reply) int {
	n := 0
	for i, reply := range replies {
		switch {
		case answered(reply.Err):
			n = i + 1
		case !calls[i].aside || isCode(reply.Err, "NOSCRIPT"):
			return n
		}
	}
	return len(calls)
}

// failure is the error of calls that stay unanswered.
func failure(open []Result, err error) error {
	for _, result := range open {
		if result.Repeated {
			return &UnknownError{err}
		}
	}
	return err
}

// The pauses between repetitions double from the first to the last. A server
// that restarts is back within some hundred milliseconds, and nobody is served
// by asking it more often than this.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 100 * time.Millisecond

	// leastTry is the least time that a request must have before the bound. One that
	// is cut off is worse than none: it turns a clear refusal into an unknown outcome.
	leastTry = 50 * time.Millisecond
)

// rest waits a while. It fails at once when ctx or bound would end before.
func rest(ctx context.Context, d time.Duration, bound time.Time) error {
	if time.Until(bound) <= d+leastTry {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answered says that err, of a reply, needs no repetition.
func answered(err error) bool {
	if err == nil {
		return true
	}
	var refused *driver.ServerError
	return errors.As(err, &refused) && !passing[code(refused)] && !interrupted(refused)
}

// interrupted says that a script was ended half-way because a key that it had removed, or
// that was never there, may be on another server of the cluster: its slot is on the move.
// Every script can be run again after any of its lines.
func interrupted(refused *driver.ServerError) bool {
	return strings.Contains(refused.Message, "attempted to access a non local key")
}

// code is the first word of an error reply. Before Redis 7, an error that ended a script
// comes wrapped, behind the script's name and line.
func code(e *driver.ServerError) string {
	if _, inner, ok := strings.Cut(e.Message, ": -"); ok && strings.HasPrefix(e.Message, "ERR Error running script") {
		word, _, _ := strings.Cut(inner, " ")
		return word
	}
	return e.Code()
}

// passing are the error replies after which the same request may succeed: the
// script is not loaded yet, the server starts, fails over, or is held up by
// somebody else's script. None of them has carried the request out.
var passing = map[string]bool{
	"NOSCRIPT":    true,
	"LOADING":     true,
	"READONLY":    true,
	"BUSY":        true,
	"MASTERDOWN":  true,
	"CLUSTERDOWN": true,
	"TRYAGAIN":    true,
}

// mayHaveRun says that a request with this error, or with none, may have been
// carried out.
func mayHaveRun(err error) bool {
	var refused *driver.ServerError
	if errors.As(err, &refused) {
		return interrupted(refused)
	}
	return !errors.Is(err, driver.ErrNotSent)
}

func isCode(err error, word string) bool {
	var refused *driver.ServerError
	return errors.As(err, &refused) && code(refused) == word
}
