package goredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
)

// errAgain stops a command that was written before.
var errAgain = errors.New("a command is never sent twice")

// errWithdrawn stops a command whose call is over.
var errWithdrawn = errors.New("the call is over")

// sending is the commands of one call on their way through go-redis, which may keep them waiting,
// fail them before they have left, and try again.
type sending struct {
	commands []redis.Cmder
	state    atomic.Int32
	err      error // of go-redis, when done is closed
	done     chan struct{}
}

// The states of a sending. It leaves the first one once.
const (
	waiting int32 = iota
	written
	withdrawn
)

func newSending(commands []driver.Command) *sending {
	s := &sending{commands: make([]redis.Cmder, len(commands)), done: make(chan struct{})}
	for i, c := range commands {
		last := len(c.Words) - 1
		words := make([]any, len(c.Words))
		for k, word := range c.Words[:last] {
			words[k] = word
		}
		words[last] = &lastWord{sending: s, text: c.Words[last]}
		s.commands[i] = &once{redis.NewCmd(context.Background(), words...), c.Words[0]}
	}
	return s
}

// run sends the commands through a client. A hook of the client that panics fails the call: nobody
// else could recover on this goroutine.
func (s *sending) run(ctx context.Context, client *redis.Client) {
	defer close(s.done)
	defer func() {
		if cause := recover(); cause != nil {
			s.err = fmt.Errorf("panic in go-redis or in a hook: %v", cause)
		}
	}()
	if len(s.commands) == 1 && leavesRetriesToCommands {
		s.err = client.Process(ctx, s.commands[0])
		return
	}
	pipeline := client.Pipeline()
	for _, c := range s.commands {
		_ = pipeline.Process(ctx, c) // only queues it
	}
	_, s.err = pipeline.Exec(ctx)
}

// withdraw says whether the commands have certainly not left, and sees to it that they never will.
func (s *sending) withdraw() bool {
	return s.state.CompareAndSwap(waiting, withdrawn) || s.state.Load() == withdrawn
}

// once is a command that go-redis must not repeat.
type once struct {
	*redis.Cmd
	name string
}

// NoRetry has go-redis return the first failure, from release 9.19 on.
func (*once) NoRetry() bool { return true }

// leavesRetriesToCommands says whether this release of go-redis calls NoRetry. An older one repeats a
// single command after some refusals, and keeps only the last failure. Of a pipeline it shows each
// failure to SetErr. So a single command is a pipeline of one there.
var _, leavesRetriesToCommands = any((*redis.Cmd)(nil)).(interface{ NoRetry() bool })

// SetErr keeps the failure of the attempt that was sent, rather than that of one that was not.
func (c *once) SetErr(err error) {
	if !errors.Is(err, errAgain) || c.Err() == nil {
		c.Cmd.SetErr(err)
	}
}

// Name is the command's name. go-redis does not find it if it is the last word as well.
func (c *once) Name() string { return strings.ToLower(c.name) }

// lastWord is the last word of a command. go-redis asks for its bytes when it writes the command to
// a connection, and gives up if it cannot have them; it then closes the connection. So the last word
// knows whether the command has left, and does not let it leave twice, whoever repeats it.
type lastWord struct {
	sending *sending
	text    string
	written atomic.Bool
}

// MarshalBinary gives the word away once, unless the call is over.
func (w *lastWord) MarshalBinary() ([]byte, error) {
	if !w.sending.state.CompareAndSwap(waiting, written) && w.sending.state.Load() == withdrawn {
		return nil, errWithdrawn
	}
	if !w.written.CompareAndSwap(false, true) {
		return nil, errAgain
	}
	return []byte(w.text), nil
}

// String is the word for hooks that write commands down.
func (w *lastWord) String() string { return w.text }
