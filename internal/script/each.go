package script

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// RunEach sends calls that do not depend on one another, in one write for each server, and
// repeats those that are not answered, each for itself. It returns one result for each
// call. A call without an answer has Result.Failed, and costs the others nothing but its
// place in the requests. It blocks for at most the bound of the runner, and no longer than
// ctx.
func (r *Runner) RunEach(ctx context.Context, calls ...Call) []Result {
	results := make([]Result, len(calls))
	open := make([]int, len(calls)) // the indices of calls without an answer
	for i := range open {
		open[i] = i
	}
	bound := time.Now().Add(r.bound)
	limited, cancel := context.WithDeadline(ctx, bound)
	defer cancel()
	for pause := firstPause; len(open) > 0; pause = min(2*pause, lastPause) {
		commands := make([]driver.Command, len(open))
		for i, at := range open {
			commands[i] = calls[at].command
			if isCode(results[at].Reply.Err, "NOSCRIPT") {
				commands[i] = calls[at].withSource()
			}
		}
		asked := time.Now()
		left := open[:0]
		known := true // all that is open needs is its source
		for i, reply := range r.driver.Pipeline(limited, commands...) {
			result := &results[open[i]]
			switch {
			case answered(reply.Err):
				result.Reply, result.Asked = reply, asked
				continue
			case result.Reply.Err == nil || !errors.Is(reply.Err, context.DeadlineExceeded):
				result.Reply = reply // a request that was cut off knows less than the one before
			}
			known = known && isCode(reply.Err, "NOSCRIPT")
			result.Repeated = result.Repeated || mayHaveRun(reply.Err)
			left = append(left, open[i])
		}
		open = left
		if !known && rest(ctx, pause, bound) != nil {
			break
		}
	}
	for _, at := range open {
		results[at].Reply.Err = failure(results[at:at+1], results[at].Reply.Err)
	}
	return results
}

// Failed is why there is no answer to a call of RunEach, or nil. It is an *UnknownError if
// the call may have taken effect.
func (r Result) Failed() error { return r.Or(r.Reply.Err) }
