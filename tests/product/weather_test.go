package product_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// network is what lies between a process and a server in fake time.
type network struct {
	driver.Driver
	*process
	sent atomic.Int64

	mu   sync.Mutex
	last <-chan struct{} // closed when the last request has arrived
}

// Embedded keeps what a Quorum would ask a server that can restart.
func (n *network) Embedded() {}

func (n *network) Do(ctx context.Context, c driver.Command) driver.Reply {
	return n.Pipeline(ctx, c)[0]
}

func (n *network) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	n.sent.Add(1)
	n.flight.add(1)
	defer n.flight.add(-1)
	send := func(commands ...driver.Command) []driver.Reply {
		return n.ask(context.WithoutCancel(ctx), commands...)
	}
	now := n.Weather
	select {
	case <-n.over:
		now = calm
	default:
	}
	switch {
	case n.dead.Load() || n.ctx.Err() != nil:
		time.Sleep(time.Millisecond)
		return stage.FailAll(commands, stage.ErrCut)
	case now == lossy:
		return n.lossy(commands, send)
	case now == moving && time.Since(n.born)/n.unit.timeout%4 == 3:
		return stage.Refusing("TRYAGAIN Multiple keys request during rehashing of slot", stage.Changing)(commands, send)
	case n.Weather == queued, now == pooled && n.roll(3) == 0:
		return n.slow(ctx, commands, send, n.delay(now))
	}
	return n.ask(ctx, commands...)
}

// ask asks the server. It has no longer time than 292 years for what Java may have taken for more.
func (n *network) ask(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := n.Driver.Pipeline(ctx, commands...)
	for _, r := range replies {
		for i := range r.Array {
			if left := longestFake - r.Array[i].Int; 0 <= left && left < 1e9 {
				r.Array[i].Int = longest
			}
		}
	}
	return replies
}

// flight is the requests of a process that are under way.
type flight struct {
	mu    sync.Mutex
	n     int
	rest  time.Duration // for how long there were none
	since time.Time     // there are none
}

func (f *flight) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		f.rest += time.Since(f.since)
	}
	f.n += n
	f.since = time.Now()
}

func (f *flight) rested() time.Duration {
	f.add(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rest
}

// Listen has some connections on which no message arrives.
func (n *network) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if n.Weather == lossy && n.roll(4) == 0 {
		events.Message = nil
	}
	return n.Driver.Listen(ctx, events)
}

// delay is how long a request or a reply is under way: mostly no time, and seldom long.
func (n *network) delay(now weather) time.Duration {
	if now == calm || n.roll(3) > 0 {
		return 0
	}
	return time.Duration(n.roll(int(max(n.unit.timeout/6>>n.roll(20), 1))))
}

// behind returns a channel that is closed when the request before this one has arrived, and what says that of this
// one. The connections of a pool do not wait for each other.
func (n *network) behind() (before <-chan struct{}, arrived func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	mine := make(chan struct{})
	before, n.last = n.last, mine
	if before == nil || n.Weather == pooled {
		first := make(chan struct{})
		close(first)
		before = first
	}
	return before, func() { close(mine) }
}

// slow carries commands out after a while, and answers after another one. With a pool a request waits for a
// connection, and does not leave if its time is up by then.
func (n *network) slow(ctx context.Context, commands []driver.Command, send stage.Sender, d time.Duration) []driver.Reply {
	answered, left := make(chan []driver.Reply, 1), make(chan struct{})
	before, arrived := n.behind()
	go func() {
		time.Sleep(d)
		<-before
		if n.Weather == pooled && ctx.Err() != nil {
			arrived()
			answered <- stage.FailAll(commands, errors.Join(driver.ErrNotSent, ctx.Err()))
			return
		}
		close(left)
		replies := send(commands...)
		arrived()
		time.Sleep(n.delay(n.Weather))
		answered <- replies
	}()
	if n.Weather == pooled {
		select {
		case replies := <-answered:
			return replies
		case <-left:
		}
	}
	select {
	case replies := <-answered:
		return replies
	case <-ctx.Done():
		return stage.FailAll(commands, ctx.Err())
	}
}

// lossy loses some requests and replies, and carries some requests out late.
func (n *network) lossy(commands []driver.Command, send stage.Sender) []driver.Reply {
	switch n.roll(16) {
	case 0:
		return stage.FailAll(commands, errors.Join(driver.ErrNotSent, stage.ErrCut))
	case 1:
	case 2:
		send(commands...)
	case 3:
		time.AfterFunc(time.Duration(n.roll(int(n.unit.timeout))), func() { send(commands...) })
	default:
		return send(commands...)
	}
	return stage.FailAll(commands, stage.ErrCut)
}
