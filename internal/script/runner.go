package script

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
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

// IsUnknown says that an error leaves open whether the call has taken effect.
func IsUnknown(err error) bool {
	_, unknown := errors.AsType[*UnknownError](err)
	return unknown
}

// Runner sends calls and repeats them until they are answered.
type Runner struct {
	driver  driver.Driver
	bound   time.Duration
	prompt  bool           // the driver ends a request within the bound by itself
	frugal  frugally       // the driver, or nil
	sharded driver.Sharded // the driver, or nil
}

// frugally is a driver that takes less memory for two commands, and keeps no command beyond its answer.
type frugally interface {
	DoTwo(ctx context.Context, one, two driver.Command) (driver.Reply, driver.Reply)
}

// NewRunner returns a runner on d. It repeats a call for at most bound. If the driver has a
// method CommandTimeout, and that is no longer than bound, the runner needs no timer for each
// request.
func NewRunner(d driver.Driver, bound time.Duration) *Runner {
	timed, ok := d.(interface{ CommandTimeout() time.Duration })
	r := &Runner{driver: guest.Driver(d), bound: bound, prompt: ok && timed.CommandTimeout() <= bound}
	r.frugal, _ = d.(frugally)
	r.sharded, _ = d.(driver.Sharded)
	return r
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
	// Reply is the server's. Its Err is nil or a *driver.ServerError if the call was
	// answered, and may be any error otherwise.
	Reply driver.Reply
	// Asked is the moment before the answered request left. A lease in the reply counts from
	// this moment, not from the arrival of the reply.
	Asked time.Time
	// Repeated says that an earlier request for the same call may have taken effect. Then the
	// reply may describe a state that the call itself has made.
	Repeated bool
}

// Failed is why the call was not answered, or nil. It is an *UnknownError if the call may
// have taken effect.
func (r Result) Failed() error {
	if r.Asked.IsZero() {
		return r.Reply.Err
	}
	return nil
}

// Run sends one call until it is answered. It blocks for at most the bound of the runner, and no
// longer than ctx. The error is an *UnknownError if the call may have taken effect. After any
// other error it has not.
func (r *Runner) Run(ctx context.Context, call Call) (Result, error) {
	asked := time.Now()
	limited, cancel := r.limit(ctx, asked.Add(r.bound))
	reply := r.driver.Do(limited, call.command)
	cancel()
	if call.answered(reply.Err) {
		return Result{Reply: reply, Asked: asked}, nil
	}
	// The slow path is a function of its own, which keeps this one cheap.
	return r.runOn(ctx, &call, &reply, asked)
}

// runOn is Run after a first request that was not answered.
func (r *Runner) runOn(ctx context.Context, call *Call, reply *driver.Reply, asked time.Time) (Result, error) {
	results, err := r.runAllOn(ctx, []Call{*call}, []driver.Reply{*reply}, asked)
	return results[0], err
}

// RunAll sends calls in order, on one connection and in one write, until each is answered. It
// returns one result for each. The error is nil if all were answered. It is an *UnknownError if
// any unanswered call may have taken effect (Result.Failed).
func (r *Runner) RunAll(ctx context.Context, calls ...Call) ([]Result, error) {
	asked := time.Now()
	commands := make([]driver.Command, len(calls))
	for i, call := range calls {
		commands[i] = call.command
	}
	limited, cancel := r.limit(ctx, asked.Add(r.bound))
	replies := r.driver.Pipeline(limited, commands...)
	cancel()
	return r.runAllOn(ctx, calls, replies, asked)
}

// RunTwo is RunAll for two calls. If both are answered at once, it takes less memory.
func (r *Runner) RunTwo(ctx context.Context, one, two Call) (Result, Result) {
	asked := time.Now()
	limited, cancel := r.limit(ctx, asked.Add(r.bound))
	var first, second driver.Reply
	if r.frugal != nil {
		first, second = r.frugal.DoTwo(limited, one.command, two.command)
	} else {
		replies := r.driver.Pipeline(limited, one.command, two.command)
		first, second = replies[0], replies[1]
	}
	cancel()
	if one.answered(first.Err) && two.answered(second.Err) {
		return Result{Reply: first, Asked: asked}, Result{Reply: second, Asked: asked}
	}
	results, _ := r.runAllOn(ctx, []Call{one, two}, []driver.Reply{first, second}, asked)
	return results[0], results[1]
}

// Done takes the memory of a call that was answered, and is not sent again, for later ones.
func (r *Runner) Done(call Call) {
	if words := call.command.Words; r.frugal != nil && cap(words) == reused {
		clear(words)
		buffers.Put((*[reused]string)(words[:reused]))
	}
}

// runAllOn is RunAll after a first request.
func (r *Runner) runAllOn(ctx context.Context, calls []Call, replies []driver.Reply, asked time.Time) ([]Result, error) {
	s := sending{driver: r.driver, bound: asked.Add(r.bound)}
	open, results := pend(calls)
	unknown, left := s.take(open, replies, asked)
	return results, s.repeat(ctx, unknown, left)
}

// RunEach sends calls that do not depend on one another, to the servers of a cluster side by
// side. It repeats each unanswered call by itself, and returns one result for each call
// (Result.Failed). A call without an answer does not delay the others of its server. RunEach
// blocks for at most the bound of the runner, and no longer than ctx.
func (r *Runner) RunEach(ctx context.Context, calls ...Call) []Result {
	s := sending{driver: r.driver, each: true, bound: time.Now().Add(r.bound)}
	all, results := pend(calls)
	shards := make(map[string][]pending)
	for _, p := range all {
		shard := ""
		if r.sharded != nil {
			shard = r.sharded.Shard(p.call.command.Key)
		}
		shards[shard] = append(shards[shard], p)
	}
	var done sync.WaitGroup
	for _, open := range shards {
		for part := range slices.Chunk(open, maxEach) {
			done.Go(func() { _ = s.repeat(ctx, part, nil) })
		}
	}
	done.Wait()
	return results
}

// maxEach is how many calls RunEach sends in one request. A longer one would leave no time to
// repeat it.
const maxEach = 10_000

// RunReplicated sends a call that writes. It waits on the same connection until that many
// replicas have the write, or the timeout has passed, and returns how many have it. Like Run it
// repeats an unanswered call, for at most the timeout and the bound of the runner together, and
// no longer than ctx.
func (r *Runner) RunReplicated(ctx context.Context, call Call, replicas int, timeout time.Duration) (Result, int, error) {
	wait := Call{command: driver.Command{Words: []string{"WAIT", strconv.Itoa(replicas), millis(timeout)}, Key: call.command.Key}}
	patient := Runner{driver: dedicated{r.driver}, bound: r.bound + timeout}
	results, err := patient.RunAll(ctx, call, wait)
	had := results[1].Reply
	if err == nil {
		err = had.Err // a server that does not know WAIT refuses it
	}
	return results[0], int(had.Int), err
}

// dedicated is a driver that sends a call and a WAIT on a dedicated connection. If WAIT is not
// answered, the call counts as unanswered, too: a WAIT on another connection would not cover it.
type dedicated struct{ driver.Driver }

func (d dedicated) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := d.DedicatedPipeline(ctx, commands...)
	if answered(replies[0].Err) && !answered(replies[1].Err) {
		replies[0].Err = replies[1].Err
	}
	return replies
}
