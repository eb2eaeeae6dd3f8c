package stage

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redlatch/redlatch/driver"
)

// HeldBack holds back the reply to the first command.
type HeldBack struct {
	driver.Driver
	Once       sync.Once
	Asked, Let chan struct{}
}

func (d *HeldBack) Do(ctx context.Context, command driver.Command) driver.Reply {
	reply := d.Driver.Do(ctx, command)
	d.Once.Do(func() {
		close(d.Asked)
		<-d.Let
	})
	return reply
}

// Tap is a driver that counts what is sent, and whose requests a test can look at, hold up, answer and lose.
type Tap struct {
	driver.Driver
	Scripts atomic.Int64 // scripts sent
	Trips   atomic.Int64 // requests sent, a pipeline being one
	Deaf    atomic.Bool  // no message arrives
	Listens atomic.Int64 // connections for messages

	mu     sync.Mutex
	around Around
}

// Set decides from now on what becomes of each request.
func (d *Tap) Set(f Around) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.around = f
}

// Spoil has fates decide it, one after another.
func (d *Tap) Spoil(fate func(words []string) Fate) {
	if fate == nil {
		d.Set(nil)
		return
	}
	var one sync.Mutex
	d.Set(Spoiling(func(words []string) Fate {
		one.Lock()
		defer one.Unlock()
		return fate(words)
	}))
}

func (d *Tap) Do(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c)[0] }

func (d *Tap) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.Trips.Add(1)
	for _, c := range commands {
		if strings.HasPrefix(c.Words[0], "EVAL") {
			d.Scripts.Add(1)
		}
	}
	d.mu.Lock()
	f := d.around
	d.mu.Unlock()
	if f == nil {
		return d.Driver.Pipeline(ctx, commands...)
	}
	sent := ctx.Err() == nil
	return f(commands, func(some ...driver.Command) []driver.Reply {
		if sent && ctx.Err() != nil { // it arrives when its sender does not wait any more
			return d.Driver.Pipeline(context.WithoutCancel(ctx), some...)
		}
		return d.Driver.Pipeline(ctx, some...)
	})
}

func (d *Tap) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	d.Listens.Add(1)
	if d.Deaf.Load() {
		events.Message = nil
	}
	return d.Driver.Listen(ctx, events)
}

// Around is what becomes of a request: send carries out commands.
type Around func(commands []driver.Command, send Sender) []driver.Reply

type Sender func(commands ...driver.Command) []driver.Reply

// Refusing answers the commands that match with an error of the server, and has the others
// carried out.
func Refusing(answer string, match func(c driver.Command) bool) Around {
	return func(commands []driver.Command, send Sender) []driver.Reply {
		replies := FailAll(commands, &driver.ServerError{Message: answer})
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

// Changing says that a command takes, renews or releases a lock.
func Changing(c driver.Command) bool {
	return strings.HasPrefix(c.Words[0], "EVAL") || c.Words[0] == "HDEL"
}
