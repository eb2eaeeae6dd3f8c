package script

import (
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
)

// sending sends some calls until each is answered. The calls are one sequence: whatever follows
// an unanswered call is sent again with it, answered or not, so that the order holds. Or, with
// each, every call is a sequence of its own.
type sending struct {
	driver driver.Driver
	each   bool
	bound  time.Time
}

// pending is a call that is not answered yet.
type pending struct {
	call    Call
	result  *Result
	sourced bool // the last request had its source
}

// pend returns calls as pending ones, and the place of their results.
func pend(calls []Call) ([]pending, []Result) {
	open, results := make([]pending, len(calls)), make([]Result, len(calls))
	for i, call := range calls {
		open[i] = pending{call: call, result: &results[i]}
	}
	return open, results
}

// repeat sends calls until each is answered: some at once, and others after a pause. It returns
// an error if some are not answered.
func (s sending) repeat(ctx context.Context, now, later []pending) error {
	if len(now)+len(later) == 0 {
		return nil
	}
	limited, cancel := context.WithDeadline(ctx, s.bound)
	defer cancel()
	for backoff := (pause.Backoff{First: firstPause, Max: lastPause}); ; {
		for len(now) > 0 {
			unknown, left := s.send(limited, now)
			now, later = unknown, append(later, left...)
		}
		if len(later) == 0 || rest(ctx, backoff.Next(), s.bound) != nil {
			return s.fail(later)
		}
		now, later = later, nil
	}
}

// send sends calls in one request. If the server did not know a script, the first call of that
// script has the source. send returns what take does.
func (s sending) send(ctx context.Context, open []pending) (unknown, left []pending) {
	commands := make([]driver.Command, len(open))
	var known []*source
	for i, p := range open {
		commands[i] = p.call.command
		open[i].sourced = unloaded(p.result.Reply.Err) && !slices.Contains(known, p.call.script)
		if open[i].sourced {
			known = append(known, p.call.script)
			commands[i] = p.call.WithSource()
		}
	}
	asked := time.Now()
	return s.take(open, s.driver.Pipeline(ctx, commands...), asked)
}

// take takes the replies to calls, and returns what is to be sent again: the sequences that
// begin with a script unknown to the server, and the others. A script that the server does not
// know although it just had the source counts among the others, which are sent after a pause.
func (s sending) take(open []pending, replies []driver.Reply, asked time.Time) (unknown, left []pending) {
	for n := len(open); len(open) > 0; open, replies = open[n:], replies[n:] {
		if s.each {
			n = 1
		}
		again := takeSequence(open[:n], replies[:n], asked)
		if len(again) > 0 && unloaded(again[0].result.Reply.Err) && !again[0].sourced {
			unknown = append(unknown, again...)
		} else {
			left = append(left, again...)
		}
	}
	return unknown, left
}

func takeSequence(open []pending, replies []driver.Reply, asked time.Time) (again []pending) {
	done := done(open, replies)
	for i, p := range open {
		if reply := replies[i]; i < done && p.call.answered(reply.Err) {
			p.result.Reply, p.result.Asked = reply, asked
		} else {
			p.result.Reply.Err = reason(p.result.Reply.Err, reply.Err)
			p.result.Repeated = p.result.Repeated || mayHaveRun(reply.Err) && !p.call.piggybacked
		}
	}
	return open[done:]
}

// done is how many of the first calls need no repetition. A piggybacked call is not repeated for
// its own sake, unless the server does not know its script. If the call right behind it is sent
// again, it goes along, because it has to be carried out first.
func done(open []pending, replies []driver.Reply) int {
	n := 0
	for i, reply := range replies {
		switch {
		case open[i].call.answered(reply.Err):
			n = i + 1
		case !open[i].call.piggybacked || unloaded(reply.Err):
			return n
		}
	}
	return len(open)
}

// fail sets the errors of calls that stay unanswered. It returns one error for all of them.
func (s sending) fail(open []pending) (common error) {
	var why error
	for i, p := range open {
		if s.each || i == 0 {
			why = p.result.Reply.Err
		}
		p.result.Reply.Err = why
		if p.result.Repeated {
			p.result.Reply.Err = &UnknownError{why}
		}
		if i == 0 || p.result.Repeated {
			common = p.result.Reply.Err
		}
	}
	return common
}

// The pauses between repetitions double from the first to the last. A server that restarts takes
// some hundred milliseconds, so there is no use in asking it more often.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 100 * time.Millisecond

	// leastTry is the least time that a request must have before the bound. A request that
	// times out is worse than none: it turns a clear refusal into an unknown outcome.
	leastTry = 50 * time.Millisecond
)

// rest waits for d. It fails at once if the bound leaves no time for a request after that.
func rest(ctx context.Context, d time.Duration, bound time.Time) error {
	if time.Until(bound) <= d+leastTry {
		return context.DeadlineExceeded
	}
	return pause.For(ctx, d)
}
