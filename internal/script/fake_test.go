package script_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// fake is a driver that answers from a script of its own. It sends nothing.
type fake struct {
	// answers are given to one request after another; the last one for ever.
	answers []answer
	latency time.Duration
	// timeout is the driver's own bound of a call, as its port demands one.
	timeout time.Duration

	mu       sync.Mutex
	requests []sent
}

// sent is one request, and when it left.
type sent struct {
	at       time.Duration
	single   bool // by Do
	commands []driver.Command
}

// answer is one reply for each command of a request; the last one for all the rest.
type answer []driver.Reply

func (f *fake) Do(ctx context.Context, command driver.Command) driver.Reply {
	return f.answer(ctx, true, []driver.Command{command})[0]
}

func (f *fake) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return f.answer(ctx, false, commands)
}

func (f *fake) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return f.answer(ctx, false, commands)
}

func (f *fake) Listen(context.Context, driver.Events) (driver.Listener, error) {
	return nil, errors.ErrUnsupported
}

func (f *fake) Close() {}

func (f *fake) answer(ctx context.Context, single bool, commands []driver.Command) []driver.Reply {
	if err := ctx.Err(); err != nil {
		return all(commands, notSent(err))
	}
	f.mu.Lock()
	f.requests = append(f.requests, sent{sinceStart(), single, commands})
	given := answer{number(1)}
	if n := len(f.answers); n > 0 {
		given = f.answers[min(len(f.requests), n)-1]
	}
	f.mu.Unlock()
	if given == nil { // no answer at all
		return all(commands, f.hang(ctx))
	}
	time.Sleep(f.latency)
	replies := make([]driver.Reply, len(commands))
	for i := range replies {
		replies[i] = given[min(i, len(given)-1)]
	}
	return replies
}

// hang waits as a driver does whose server is frozen.
func (f *fake) hang(ctx context.Context) driver.Reply {
	timeout := f.timeout
	if timeout == 0 {
		timeout = time.Hour
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return driver.Reply{Err: fmt.Errorf("redis: %w", ctx.Err())}
	case <-timer.C:
		return driver.Reply{Err: errors.New("redis: no answer")}
	}
}

func all(commands []driver.Command, reply driver.Reply) []driver.Reply {
	return slices.Repeat([]driver.Reply{reply}, len(commands))
}

var errCut = errors.New("connection reset")

// The replies that tests give.
var (
	lost = driver.Reply{Err: errCut}
	hung answer // no answer
)

func number(n int64) driver.Reply { return driver.Reply{Int: n} }
func notSent(why error) driver.Reply {
	return driver.Reply{Err: fmt.Errorf("%w: %w", driver.ErrNotSent, why)}
}
func refused(text string) driver.Reply {
	return driver.Reply{Err: &driver.ServerError{Message: text}}
}

// bubbleStart is the moment at which every synctest bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func sinceStart() time.Duration { return time.Since(bubbleStart) }
