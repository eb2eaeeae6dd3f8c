package counter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Counters makes the counters of one manager, and numbers their requests.
type Counters struct {
	manager *lock.Manager
	keep    time.Duration // for how long a record is kept

	mu   sync.Mutex
	free []int // slots that no request has
	most int   // how many slots there are
	last int64 // number of a request
}

// New makes the counters of a manager. No request is repeated for longer than the bound.
func New(m *lock.Manager, bound time.Duration) *Counters {
	return &Counters{manager: m, keep: max(time.Minute, 2*bound)}
}

// request is one request, with the slot that it has until it has ended.
type request struct {
	script.Request
	slot  int
	began time.Time
}

// begin gives a request for a key a slot and a number. There are as many slots as requests at a time,
// so there are no more records.
func (c *Counters) begin(key string) request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) == 0 {
		c.most++
		c.free = append(c.free, c.most)
	}
	slot := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	c.last++
	return request{script.Request{Record: protocol.RequestKey(key, c.manager.ID(), slot), Number: c.last, Keep: c.keep}, slot, time.Now()}
}

// end frees the slot of a request. A copy of it that comes later finds the record of the next one.
func (c *Counters) end(r request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, r.slot)
}

// named is a counter by its name.
type named struct {
	*Counters
	name    string // as the user has it
	channel string
	queue   string // the key of its local wait queue
	key     string
	err     error // why the name cannot be used; nil if it can
}

func (c *Counters) named(name, key, channel, queue string, derived ...string) named {
	derived = append(derived, channel, protocol.RequestKey(key, c.manager.ID(), 1))
	return named{c, name, channel, queue, key, c.manager.CheckName(name, derived...)}
}

// read runs a call that changes nothing.
func (n named) read(ctx context.Context, verb string, call script.Call) (driver.Reply, error) {
	if err := n.enter(verb, n.manager.Enter); err != nil {
		return driver.Reply{}, err
	}
	defer n.manager.Leave()
	result, err := n.manager.Runner().Run(ctx, call)
	if err != nil {
		return driver.Reply{}, n.failure(ctx, verb, lock.Bare(err))
	}
	return result.Reply, nil
}

// change runs a call that changes the counter.
func (n named) change(ctx context.Context, verb string, call func(script.Request) script.Call) (script.Result, error) {
	if err := n.enter(verb, n.manager.Enter); err != nil {
		return script.Result{}, err
	}
	defer n.manager.Leave()
	return n.send(ctx, verb, n.manager.Runner(), call)
}

func (n named) send(ctx context.Context, verb string, runner *script.Runner, call func(script.Request) script.Call) (script.Result, error) {
	r := n.begin(n.key)
	defer n.end(r)
	result, err := runner.Run(ctx, call(r.Request))
	if err == nil && result.Repeated && result.Reply.Err != nil { // an earlier copy may still come
		err = &script.UnknownError{Err: result.Reply.Err}
	}
	if err != nil {
		err = n.failure(ctx, verb, err)
	}
	return result, err
}

// enter admits an operation.
func (n named) enter(verb string, admit func() bool) error {
	if n.err != nil {
		return n.err
	}
	if !admit() {
		return fmt.Errorf("redlatch: %s %q: %w", verb, n.name, lockerr.ErrClosed)
	}
	return nil
}

func (n named) failure(ctx context.Context, verb string, err error) error {
	return lockerr.WithCause(lock.Failure(verb, n.name, err), ctx)
}

// notAcquired is the error of a wait that ended.
func (n named) notAcquired(ctx context.Context, verb string) error {
	return lockerr.WithCause(fmt.Errorf("redlatch: %s %q: %w", verb, n.name, lockerr.ErrNotAcquired), ctx)
}

// sleep sleeps until the waiter may have something to do. It reports false if ctx ended.
func sleep(ctx context.Context, w *waitqueue.Waiter) bool {
	select {
	case <-w.Woken():
		return true
	case <-ctx.Done():
		return false
	}
}

// nap is until when a waiter sleeps that nobody wakes.
func (n named) nap() time.Time { return time.Now().Add(lock.Nap(-1, n.manager.PollCap())) }
