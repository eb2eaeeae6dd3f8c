package goredis

import (
	"context"
	"errors"
	"slices"
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
	ctx      context.Context // for hooks
	commands []once
	few      [2]once // the memory of so many commands
	state    atomic.Int32
	again    atomic.Bool   // go-redis, or a hook, has tried to repeat it
	left     bool          // its connection was given up meanwhile
	err      error         // of go-redis, when done has a value
	done     chan struct{} // has capacity one
	ended    bool          // done has had its value
}

// The states of a sending. It leaves the first one once.
const (
	waiting int32 = iota
	written
	withdrawn
)

func newSending(ctx context.Context, commands []driver.Command, done chan struct{}) *sending {
	s := &sending{ctx: ctx, done: done}
	s.commands = slices.Grow(s.few[:0], len(commands))[:len(commands)]
	words := make([]any, 0, 8*len(commands)) // of all, which are seldom longer
	for i, c := range commands {
		first, last := len(words), len(c.Words)-1
		for _, word := range c.Words[:last] {
			words = append(words, word)
		}
		one := &s.commands[i]
		one.sending, one.name, one.last.once, one.last.text = s, c.Words[0], one, c.Words[last]
		words = append(words, &one.last)
		one.Cmd = redis.NewCmd(ctx, slices.Clip(words[first:])...)
	}
	return s
}

// finish ends the wait for a call.
func (s *sending) finish(err error) {
	s.err = err
	s.done <- struct{}{}
}

// trouble is why the connection of a call is of no use any more, nil if it is. The error is that of
// the pipeline.
func (s *sending) trouble(sent error) error {
	switch {
	case len(s.commands) == 0:
		return nil
	case s.state.Load() != written:
		return errors.Join(errLeft, sent)
	case s.again.Load():
		return errAgain // go-redis has closed the connection
	}
	for i := range s.commands {
		if err := convert(&s.commands[i]).Err; err != nil {
			if refused, ok := err.(*driver.ServerError); !ok || refused.Code() == "READONLY" {
				return err
			}
		}
	}
	return nil
}

// send sends calls in one pipeline. Its hooks see the context of the first call, but not its end: that
// must not end the others.
func send(to *redis.Tx, pipeline redis.Pipeliner, calls ...*sending) error {
	ctx := calls[0].ctx
	if ctx.Done() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if len(calls) == 1 && len(calls[0].commands) == 1 && leavesRetriesToCommands {
		return to.Process(ctx, &calls[0].commands[0])
	}
	for _, s := range calls {
		for i := range s.commands {
			_ = pipeline.Process(ctx, &s.commands[i]) // only queues it
		}
	}
	if pipeline.Len() == 0 {
		return nil
	}
	_, err := pipeline.Exec(ctx)
	return err
}

// withdraw says whether the commands have certainly not left, and sees to it that they never will.
func (s *sending) withdraw() bool {
	return s.state.CompareAndSwap(waiting, withdrawn) || s.state.Load() == withdrawn
}

// once is a command that go-redis must not repeat.
type once struct {
	*redis.Cmd
	sending *sending
	name    string
	last    lastWord
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
	once    *once
	text    string
	bytes   [32]byte // the memory of a short text, as it is written
	written atomic.Bool
}

// MarshalBinary gives the word away once, unless the call is over.
func (w *lastWord) MarshalBinary() ([]byte, error) {
	s := w.once.sending
	if !s.state.CompareAndSwap(waiting, written) && s.state.Load() == withdrawn {
		return nil, errWithdrawn
	}
	if !w.written.CompareAndSwap(false, true) {
		s.again.Store(true)
		return nil, errAgain
	}
	return append(w.bytes[:0], w.text...), nil
}

// String is the word for hooks that write commands down.
func (w *lastWord) String() string { return w.text }
