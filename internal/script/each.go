package script

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// RunEach sends calls that do not depend on one another and repeats those that are not
// answered, each for itself, the servers of a cluster side by side. It returns one result for
// each call. A call without an answer has Result.Failed, and costs the others of its server
// nothing but its place in the requests. It blocks for at most the bound of the runner, and no
// longer than ctx.
func (r *Runner) RunEach(ctx context.Context, calls ...Call) []Result {
	e := each{runner: r, calls: calls, results: make([]Result, len(calls)), bound: time.Now().Add(r.bound)}
	limited, cancel := context.WithDeadline(ctx, e.bound)
	defer cancel()
	shards := make(map[string][]int) // the indices of the calls
	sharded, _ := r.driver.(driver.Sharded)
	for i, call := range calls {
		shard := ""
		if sharded != nil {
			shard = sharded.Shard(call.command.Key)
		}
		shards[shard] = append(shards[shard], i)
	}
	var done sync.WaitGroup
	for _, open := range shards {
		if len(shards) == 1 {
			e.run(limited, open)
		} else {
			done.Go(func() { e.run(limited, open) })
		}
	}
	done.Wait()
	return e.results
}

// Failed is why there is no answer to a call of RunEach, or nil. It is an *UnknownError if
// the call may have taken effect.
func (r Result) Failed() error { return r.Or(r.Reply.Err) }

// each is one RunEach.
type each struct {
	runner  *Runner
	calls   []Call
	results []Result
	bound   time.Time
}

// eachChunk is how many calls go in one request. A longer one would leave no time to repeat it.
const eachChunk = 10_000

// run sends the calls of one server until they are answered.
func (e *each) run(ctx context.Context, open []int) {
	for pause := firstPause; len(open) > 0; pause = min(2*pause, lastPause) {
		var left []int
		for chunk := range slices.Chunk(open, eachChunk) {
			left = append(left, e.send(ctx, chunk)...)
		}
		open = left
		if len(open) > 0 && rest(ctx, pause, e.bound) != nil {
			break
		}
	}
	for _, i := range open {
		e.results[i].Reply.Err = failure(e.results[i:i+1], e.results[i].Reply.Err)
	}
}

// send sends some calls once, and at once again those whose script the server does not know:
// one of each script with its source, before the others. It returns those without an answer.
func (e *each) send(ctx context.Context, some []int) []int {
	left, unknown := e.try(ctx, some, nil)
	if len(unknown) == 0 {
		return left
	}
	sources := make(map[*source]bool)
	again, still := e.try(ctx, unknown, sources)
	return append(left, append(again, still...)...)
}

// try sends some calls once; where sources is not nil the first of each script with its source. It
// returns those without an answer, and apart from them those with an unknown script.
func (e *each) try(ctx context.Context, some []int, sources map[*source]bool) (left, unknown []int) {
	commands := make([]driver.Command, len(some))
	for at, i := range some {
		call := e.calls[i]
		commands[at] = call.command
		if sources != nil && !sources[call.script] {
			sources[call.script] = true
			commands[at] = call.withSource()
		}
	}
	asked := time.Now()
	for at, reply := range e.runner.driver.Pipeline(ctx, commands...) {
		i, result := some[at], &e.results[some[at]]
		switch {
		case answered(reply.Err):
			result.Reply, result.Asked = reply, asked
			continue
		case isCode(reply.Err, "NOSCRIPT"):
			unknown = append(unknown, i)
		default:
			left = append(left, i)
		}
		if result.Reply.Err == nil || !errors.Is(reply.Err, context.DeadlineExceeded) {
			result.Reply = reply // a request that was cut off knows less than the one before
		}
		result.Repeated = result.Repeated || mayHaveRun(reply.Err)
	}
	return left, unknown
}
