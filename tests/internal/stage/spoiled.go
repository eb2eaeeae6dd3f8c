package stage

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/redlatch/redlatch/driver"
)

// What becomes of requests on their way.

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
	return slices.Repeat([]driver.Reply{{Err: err}}, len(commands))
}
