package embedded

import (
	"context"
	"errors"
	"sync"

	"github.com/alicebob/miniredis/v2"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
)

// Spoiled is a connection to an embedded server of its own, of which each command can be held up, lost
// or answered by a test. It does not bound a call by itself.
type Spoiled struct {
	driver.Driver
	memory *memory.Driver

	mu   sync.Mutex
	fate Fate
}

// Fate decides what becomes of a command. It may send the command any number of times, and returns
// what the client is told. A nil Fate sends each command once.
type Fate func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply

// ErrNoReply is what a client is told of a command whose outcome is unknown.
var ErrNoReply = errors.New("no reply")

// OpenSpoiled starts a server. In a bubble of fake time, open it inside.
func OpenSpoiled(ctx context.Context) (*Spoiled, error) {
	d, err := memory.Open(ctx, memory.Options{})
	if err != nil {
		return nil, err
	}
	Quicken(d.Miniredis())
	return &Spoiled{Driver: d, memory: d}, nil
}

// Miniredis is the server.
func (s *Spoiled) Miniredis() *miniredis.Miniredis { return s.memory.Miniredis() }

// Spoil sets the fate of all commands from now on.
func (s *Spoiled) Spoil(f Fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fate = f
}

// Do sends one command, if its fate lets it.
func (s *Spoiled) Do(ctx context.Context, command driver.Command) driver.Reply {
	s.mu.Lock()
	fate := s.fate
	s.mu.Unlock()
	if fate == nil {
		return s.Driver.Do(ctx, command)
	}
	return fate(ctx, command.Words, func() driver.Reply { return s.Driver.Do(context.WithoutCancel(ctx), command) })
}

// Pipeline sends commands one after another, each if its fate lets it.
func (s *Spoiled) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	for i, command := range commands {
		replies[i] = s.Do(ctx, command)
	}
	return replies
}

// Lost has a command arrive nowhere.
func Lost(context.Context, []string, func() driver.Reply) driver.Reply {
	return driver.Reply{Err: ErrNoReply}
}

// Unanswered has a command arrive, and its reply get lost.
func Unanswered(_ context.Context, _ []string, send func() driver.Reply) driver.Reply {
	send()
	return driver.Reply{Err: ErrNoReply}
}

// Frozen has a command wait for the end of its time, and arrive nowhere.
func Frozen(ctx context.Context, _ []string, _ func() driver.Reply) driver.Reply {
	<-ctx.Done()
	return driver.Reply{Err: ctx.Err()}
}
