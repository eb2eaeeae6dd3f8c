package inspect

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
)

// pace spreads commands over time.
type pace struct {
	each time.Duration // one command's share of a second

	mu   sync.Mutex
	next time.Time // when the next command may be sent
}

func newPace(rate int) *pace { return &pace{each: time.Second / time.Duration(rate)} }

// take waits until n commands may be sent at once. Those behind them wait for longer.
func (p *pace) take(ctx context.Context, n int) error { return p.takePart(ctx, n, 1) }

// takePart is take for commands of which so many count as one.
func (p *pace) takePart(ctx context.Context, n, asOne int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return pause.For(ctx, time.Until(p.reserve(n, asOne)))
}

// reserve says when n commands may be sent, of which so many count as one.
func (p *pace) reserve(n, asOne int) (at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at = time.Now(); p.next.After(at) {
		at = p.next
	}
	p.next = at.Add(time.Duration(n) * p.each / time.Duration(asOne))
	return at
}

// prepaid is a driver for some commands that pace has let through. A runner repeats some of them, for
// example if the server does not know a script. Later commands then wait for longer.
type prepaid struct {
	driver.Driver
	pace *pace
	left atomic.Int64
}

func newPrepaid(d driver.Driver, p *pace, n int) *prepaid {
	one := &prepaid{Driver: d, pace: p}
	one.left.Store(int64(n))
	return one
}

// Pipeline sends commands. See driver.Driver.
func (p *prepaid) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	n := int64(len(commands))
	if over := -p.left.Add(-n); over > 0 {
		p.pace.reserve(int(min(over, n)), 1)
	}
	return p.Driver.Pipeline(ctx, commands...)
}
