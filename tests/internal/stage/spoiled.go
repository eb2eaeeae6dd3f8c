package stage

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

// Spoiled is a driver that counts what is sent and can lose requests and replies.
type Spoiled struct {
	driver.Driver
	Scripts atomic.Int64 // scripts sent
	Trips   atomic.Int64 // requests sent, a pipeline being one

	mu   sync.Mutex
	fate func(words []string) Fate
}

// Spoil decides from now on what becomes of each request.
func (d *Spoiled) Spoil(fate func(words []string) Fate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fate = fate
}

func (d *Spoiled) fateOf(commands []driver.Command) Fate {
	d.Trips.Add(1)
	for _, c := range commands {
		if strings.HasPrefix(c.Words[0], "EVAL") {
			d.Scripts.Add(1)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fate == nil {
		return Arrives
	}
	return d.fate(commands[0].Words)
}

func (d *Spoiled) Do(ctx context.Context, c driver.Command) driver.Reply {
	return d.Pipeline(ctx, c)[0]
}

func (d *Spoiled) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return d.fateOf(commands).befall(commands, func(some ...driver.Command) []driver.Reply { return d.Driver.Pipeline(ctx, some...) })
}

func (what Fate) befall(commands []driver.Command, send Sender) []driver.Reply {
	lost := ErrCut
	switch what {
	case Arrives:
		return send(commands...)
	case AnswerLost:
		send(commands...)
	case NotSent:
		lost = errors.Join(driver.ErrNotSent, ErrCut)
	}
	return FailAll(commands, lost)
}

// Spoiling is what becomes of requests whose fates are these.
func Spoiling(fate func(words []string) Fate) Around {
	return func(commands []driver.Command, send Sender) []driver.Reply {
		return fate(commands[0].Words).befall(commands, send)
	}
}

// Fate is what becomes of a request.
type Fate int

const (
	Arrives    Fate = iota
	NotSent         // it never leaves
	Lost            // it is sent and never answered, and not carried out
	AnswerLost      // it is carried out and never answered
)

var ErrCut = errors.New("connection cut")

// Once spoils the next request and no other.
func Once(what Fate) func([]string) Fate {
	var spent atomic.Bool
	return func([]string) Fate {
		if spent.Swap(true) {
			return Arrives
		}
		return what
	}
}

// LosesOneOf loses one request or reply of n, each in one of three ways.
func LosesOneOf(n int, roll func(n int) int) func([]string) Fate {
	return func([]string) Fate {
		if roll(n) == 0 {
			return []Fate{NotSent, Lost, AnswerLost}[roll(3)]
		}
		return Arrives
	}
}

// Dice returns a source of random numbers that many goroutines can use.
func Dice(seed uint64) func(n int) int {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 1))
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return source.IntN(n)
	}
}

// FailAll are the replies to commands that all came to one error.
func FailAll(commands []driver.Command, err error) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	for i := range replies {
		replies[i].Err = err
	}
	return replies
}
