package redlatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redlatch/redlatch/driver"
)

// Drivers that come between a client and its server: spoiled loses, tap does what a test says.

// spoiled is a driver that counts what is sent and can lose requests and replies.
type spoiled struct {
	driver.Driver
	scripts atomic.Int64 // scripts sent
	trips   atomic.Int64 // requests sent, a pipeline being one

	mu   sync.Mutex
	fate func(words []string) fate
}

// spoil decides from now on what becomes of each request.
func (d *spoiled) spoil(fate func(words []string) fate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fate = fate
}

func (d *spoiled) fateOf(commands []driver.Command) fate {
	d.trips.Add(1)
	for _, c := range commands {
		if strings.HasPrefix(c.Words[0], "EVAL") {
			d.scripts.Add(1)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fate == nil {
		return arrives
	}
	return d.fate(commands[0].Words)
}

func (d *spoiled) Do(ctx context.Context, c driver.Command) driver.Reply {
	return d.Pipeline(ctx, c)[0]
}

func (d *spoiled) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	lost := errCut
	switch d.fateOf(commands) {
	case arrives:
		return d.Driver.Pipeline(ctx, commands...)
	case losesAnswer:
		d.Driver.Pipeline(ctx, commands...)
	case isNotSent:
		lost = errors.Join(driver.ErrNotSent, errCut)
	}
	return failAll(commands, lost)
}

// fate is what becomes of a request.
type fate int

const (
	arrives     fate = iota
	isNotSent        // it never leaves
	isLost           // it is sent and never answered, and not carried out
	losesAnswer      // it is carried out and never answered
)

var errCut = errors.New("connection cut")

// once spoils the next request and no other.
func once(what fate) func([]string) fate {
	spent := false
	return func([]string) fate {
		if spent {
			return arrives
		}
		spent = true
		return what
	}
}

// losesOneOf loses one request or reply of n, each in one of three ways.
func losesOneOf(n int, roll func(n int) int) func([]string) fate {
	return func([]string) fate {
		if roll(n) == 0 {
			return []fate{isNotSent, isLost, losesAnswer}[roll(3)]
		}
		return arrives
	}
}

// dice returns a source of random numbers that many goroutines can use.
func dice(seed uint64) func(n int) int {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 1))
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return source.IntN(n)
	}
}

// tap is a driver whose requests a test can look at, hold up, answer and lose.
type tap struct {
	driver.Driver
	deaf atomic.Bool // no message arrives

	mu     sync.Mutex
	around around
}

func (d *tap) set(f around) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.around = f
}

func (d *tap) Do(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c)[0] }

func (d *tap) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.mu.Lock()
	f := d.around
	d.mu.Unlock()
	if f == nil {
		return d.Driver.Pipeline(ctx, commands...)
	}
	return f(commands, func(some ...driver.Command) []driver.Reply { return d.Driver.Pipeline(ctx, some...) })
}

func (d *tap) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if d.deaf.Load() {
		events.Message = nil
	}
	return d.Driver.Listen(ctx, events)
}

// around is what becomes of a request: send carries out commands.
type around func(commands []driver.Command, send sender) []driver.Reply

type sender func(commands ...driver.Command) []driver.Reply

// failAll are the replies to commands that all came to one error.
func failAll(commands []driver.Command, err error) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	for i := range replies {
		replies[i].Err = err
	}
	return replies
}

// refusing answers the commands that match with an error of the server, and has the others
// carried out.
func refusing(answer string, match func(c driver.Command) bool) around {
	return func(commands []driver.Command, send sender) []driver.Reply {
		replies := failAll(commands, &driver.ServerError{Message: answer})
		var others []driver.Command
		var at []int
		for i, c := range commands {
			if !match(c) {
				others, at = append(others, c), append(at, i)
			}
		}
		if len(others) == 0 {
			return replies
		}
		for i, reply := range send(others...) {
			replies[at[i]] = reply
		}
		return replies
	}
}

// changing says that a command takes, renews or releases a lock.
func changing(c driver.Command) bool {
	return strings.HasPrefix(c.Words[0], "EVAL") || c.Words[0] == "HDEL"
}
