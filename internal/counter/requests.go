package counter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Counters makes the counters of one manager, and numbers their requests.
type Counters struct {
	manager *lock.Manager
	repeat  time.Duration // for how long a request is repeated
	keep    time.Duration // for how long its record is kept: also for a copy that arrives late

	mu   sync.Mutex
	free []int          // slots that no request has
	most int            // how many slots there are
	last int64          // number of a request
	owed map[string]int // permits that were taken and not put back, by key
}

// repeated is for how long a request that ends work is repeated at least: it outlasts a failover, and a cut of a minute.
// Records live for twice that time, and there may be one for each name.
const repeated = 2 * time.Minute

// New makes the counters of a manager. No request is repeated for longer than the bound.
func New(m *lock.Manager, bound time.Duration) *Counters {
	repeat := max(repeated, 2*bound)
	return &Counters{manager: m, repeat: repeat, keep: 2 * repeat, owed: make(map[string]int)}
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
	return request{script.Request{Record: protocol.RequestKey(key, c.manager.ID, slot), Number: c.last, Keep: c.keep}, slot, time.Now()}
}

// end frees the slot of a request. A copy of it that comes later finds the record of the next one.
func (c *Counters) end(r request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, r.slot)
}

// took notes that this client has n permits more.
func (c *Counters) took(key string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed[key] += n
	c.manager.Owe(n)
}

// gave notes that this client has n permits less. Others may have taken those that it puts back.
func (c *Counters) gave(key string, n int) {
	c.mu.Lock()
	n = min(n, c.owed[key])
	if c.owed[key] -= n; c.owed[key] == 0 {
		delete(c.owed, key)
	}
	c.mu.Unlock()
	if n > 0 {
		c.manager.Owe(-n)
	}
}

// insist repeats a request aside, until it is answered or its time is over. The last copy is sent long before the
// record may have expired. Shutdown waits for it, and Close for the attempt that is under way. The caller is inside
// the manager.
func (n named) insist(r request, since time.Time, call script.Call, done func(script.Result, error)) {
	n.manager.EnterRelease()
	call = call.Ending().Sourced()
	n.manager.Go(func() {
		defer n.manager.Leave()
		defer n.end(r)
		limited, cancel := context.WithDeadline(context.Background(), since.Add(n.repeat))
		defer cancel()
		result, err := n.manager.Releases().Run(limited, call)
		pauses := pause.Backoff{First: time.Millisecond, Max: 100 * time.Millisecond} // a short bound leaves Run no time to repeat
		for err != nil && !n.manager.Closing() && pauses.Wait(limited) == nil {
			result, err = n.manager.Releases().Run(limited, call)
		}
		done(result, err)
	})
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
	derived = append(derived, channel, protocol.RequestKey(key, c.manager.ID, 1))
	return named{c, name, channel, queue, key, c.manager.CheckName(name, derived...)}
}

// Name is the name as the user has it.
func (n named) Name() string { return n.name }

// count reads the counter.
func (n named) count(ctx context.Context, verb string, call script.Call) (int, error) {
	if err := n.enter(verb, (*lock.Manager).Enter); err != nil {
		return 0, err
	}
	defer n.manager.Leave()
	result, err := n.manager.Runner().Run(ctx, call)
	if err != nil {
		return 0, n.failure(ctx, verb, lock.Bare(err))
	}
	return answer(ctx, n, verb, result, nil, script.ReadCounter)
}

// change runs a call that changes the counter.
func (n named) change(ctx context.Context, verb string, call func(script.Request) script.Call) (script.Result, error) {
	if err := n.enter(verb, (*lock.Manager).Enter); err != nil {
		return script.Result{}, err
	}
	defer n.manager.Leave()
	r := n.begin(n.key)
	defer n.end(r)
	result, err := n.manager.Runner().Run(ctx, call(r.Request))
	return result, n.outcome(ctx, verb, result, err)
}

// finish runs a call that ends work: also if ctx has ended, and until the client is closed. If it is not answered
// within the release timeout, it is repeated aside, and the error is ErrUnknownOutcome. Over is called once, when the
// outcome is known or given up.
func (n named) finish(ctx context.Context, verb string, call func(script.Request) script.Call, over func()) (script.Result, error) {
	if err := n.enter(verb, (*lock.Manager).EnterRelease); err != nil {
		over()
		return script.Result{}, err
	}
	defer n.manager.Leave()
	r := n.begin(n.key)
	sent := call(r.Request).Ending()
	result, err := n.manager.Releases().Run(context.WithoutCancel(ctx), sent)
	if err == nil {
		n.end(r)
		over()
		return result, n.outcome(ctx, verb, result, nil)
	}
	n.insist(r, r.began, sent, func(_ script.Result, err error) {
		if err != nil {
			n.manager.Logger.Warn("redlatch: given up: "+verb, "name", n.name, "error", err)
		}
		over()
		n.manager.Queues().Wake(n.queue, nil)
	})
	if !script.IsUnknown(err) {
		err = &script.UnknownError{Err: err} // it may still take effect
	}
	return result, n.failure(ctx, verb, err)
}

// outcome is the error of a request, or nil.
func (n named) outcome(ctx context.Context, verb string, result script.Result, err error) error {
	if err == nil && result.Repeated && result.Reply.Err != nil { // an earlier copy may still come
		err = &script.UnknownError{Err: result.Reply.Err}
	}
	if err == nil {
		return nil
	}
	return n.failure(ctx, verb, err)
}

// answer reads a reply, unless there is an error instead of one.
func answer[T any](ctx context.Context, n named, verb string, r script.Result, err error, read func(driver.Reply) (T, error)) (what T, _ error) {
	if err != nil {
		return what, err
	}
	if what, err = read(r.Reply); err != nil {
		err = n.failure(ctx, verb, err)
	}
	return what, err
}

// usable says why the counter cannot be used, or nil: nobody made it, or its name is wrong.
func (n named) usable() error {
	if n.Counters == nil {
		return lockerr.ErrUnmade
	}
	return n.err
}

// enter admits an operation.
func (n named) enter(verb string, admit func(*lock.Manager) bool) error {
	if err := n.usable(); err != nil {
		return err
	}
	if !admit(n.manager) {
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

// unanswered is the error of a wait that ended because ctx did, or because the client closes.
func (n named) unanswered(ctx context.Context, verb string) error {
	if n.manager.Stopped() {
		return fmt.Errorf("redlatch: %s %q: %w", verb, n.name, lockerr.ErrClosed)
	}
	return n.notAcquired(ctx, verb)
}

// nap is until when a waiter sleeps that nobody wakes.
func (n named) nap() time.Time { return time.Now().Add(lock.Nap(-1, n.manager.PollCap)) }
