//go:build interop

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// latches is the counterpart of the Java probe: redlatch clients that take the same
// commands.
type latches struct {
	mu      sync.Mutex
	clients map[string]*latchClient
}

func newLatches() *latches { return &latches{clients: make(map[string]*latchClient)} }

func (l *latches) run(c command) answer {
	a := answer{ID: c.ID}
	err := l.dispatch(c, &a)
	a.At = time.Now().UnixMicro()
	switch {
	case errors.Is(err, redlatch.ErrLost):
		a.OK, a.Error, a.Why = false, lost, err.Error()
	case err != nil:
		a.OK, a.Error = false, err.Error()
	}
	return a
}

func (l *latches) dispatch(c command, a *answer) error {
	l.mu.Lock()
	client := l.clients[c.Client]
	l.mu.Unlock()
	switch c.Verb {
	case "open":
		client, err := openLatchClient(c)
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.clients[c.Client] = client
		l.mu.Unlock()
		a.OK, a.Owner = true, client.ID()
		return nil
	case "close":
		a.OK = true
		return client.Close(context.Background())
	case "parked":
		stats := client.Stats()
		a.OK = stats.Waiters > 0 && stats.Subscriptions > 0
		return nil
	}
	t := client.thread(c.Thread)
	t.mu.Lock()
	defer t.mu.Unlock()
	a.From = time.Now().UnixMicro()
	return t.apply(c, a)
}

// latchClient is one redlatch client, and contexts in the place of Java's threads.
type latchClient struct {
	*redlatch.Client

	mu      sync.Mutex
	threads map[int]*thread
}

// slow is how long a busy machine may take to answer one command. The probe of Redisson has the same.
const slow = 20 * time.Second

func openLatchClient(c command) (*latchClient, error) {
	client, err := redlatch.Open(context.Background(), c.Address, redlatch.Config{
		LeaseTime:  time.Duration(c.Watchdog) * time.Millisecond,
		FairWait:   time.Duration(c.FairWait) * time.Millisecond,
		TokenClock: c.TokenClock,
		Logger:     slog.New(slog.DiscardHandler),

		CommandTimeout: slow,
		ReleaseTimeout: slow,
	})
	return &latchClient{Client: client, threads: make(map[int]*thread)}, err
}

func (l *latchClient) thread(number int) *thread {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.threads[number]
	if t == nil {
		t = &thread{client: l, ctx: l.WithOwner(context.Background()), holds: make(map[string][]*redlatch.Hold)}
		l.threads[number] = t
	}
	return t
}

// thread is one owner with the holds that it has. Its mutex is held for as long as a
// verb takes: a thread does one thing at a time.
type thread struct {
	client *latchClient
	ctx    context.Context

	mu    sync.Mutex
	holds map[string][]*redlatch.Hold
}

func (t *thread) apply(c command, a *answer) error {
	a.OK = true
	switch c.Kind {
	case "semaphore", "permits", "latch":
		return t.applyCounter(c, a)
	}
	switch c.Verb {
	case "lock", "tryLock":
		return t.lock(c, a)
	case "unlock":
		return t.unlock(c, a)
	case "contend":
		return t.contend(c, a)
	case "forceUnlock":
		ok, err := t.client.forcible(c).ForceUnlock(t.ctx)
		a.OK = ok
		return err
	case "holdCount":
		a.Value = int64(len(t.holds[c.Kind+" "+c.Name]))
		return nil
	}
	return fmt.Errorf("no verb %q", c.Verb)
}

func (t *thread) lock(c command, a *answer) error {
	var opts []redlatch.LockOption
	if c.Lease >= 0 {
		opts = append(opts, redlatch.WithLease(time.Duration(c.Lease)*time.Millisecond))
	}
	if c.Kind == "fenced" {
		opts = append(opts, redlatch.WithFencing())
	}
	opts = append(opts, backoff(c)...)
	take := t.client.lock(c).Lock
	if c.Verb == "tryLock" {
		opts = append(opts, redlatch.WithWait(time.Duration(max(c.Wait, 0))*time.Millisecond))
		take = t.client.lock(c).TryLock
	}
	h, err := take(t.below(c), opts...)
	if errors.Is(err, redlatch.ErrNotAcquired) {
		a.OK = false
		return nil
	}
	if err != nil {
		return err
	}
	a.Owner, a.Value = owner(h), h.Token()
	key := c.Kind + " " + c.Name
	t.holds[key] = append(t.holds[key], h)
	return nil
}

// backoff makes a wait for a spin lock poll.
func backoff(c command) (opts []redlatch.LockOption) {
	if c.Kind == "spin" {
		opts = append(opts, redlatch.WithBackoff(time.Millisecond, longestSpin))
	}
	return opts
}

// longestSpin is the longest pause of Redisson's spin locks.
const longestSpin = 128 * time.Millisecond

// below is the context under which a lock is taken: one owner for all that the thread does.
// Several locks are taken at once only by an owner that has none of them, so the thread is
// a new one each time that it takes a multi-lock.
func (t *thread) below(c command) context.Context {
	if c.Kind == "multi" {
		return context.Background()
	}
	return t.ctx
}

// owner is the name of a hold, or of its first member.
func owner(h *redlatch.Hold) string {
	if m := h.Members(); len(m) > 0 {
		return m[0].Owner()
	}
	return h.Owner()
}

func (t *thread) unlock(c command, a *answer) error {
	key := c.Kind + " " + c.Name
	holds := t.holds[key]
	if len(holds) == 0 {
		return redlatch.ErrLost // what Java's IllegalMonitorStateException says
	}
	last := holds[len(holds)-1]
	t.holds[key] = holds[:len(holds)-1]
	a.Owner = owner(last)
	return last.Unlock(t.ctx)
}

// forcible is what all kinds of locks can besides being locked.
type forcible interface {
	ForceUnlock(ctx context.Context) (bool, error)
}

func (l *latchClient) forcible(c command) forcible {
	switch c.Kind {
	case "mutex", "spin", "fenced":
		return l.Mutex(c.Name)
	case "fair":
		return l.FairMutex(c.Name)
	}
	return l.RWMutex(c.Name)
}

func (l *latchClient) lock(c command) redlatch.Lock {
	switch c.Kind {
	case "mutex", "spin", "fenced":
		return l.Mutex(c.Name)
	case "multi":
		var locks []redlatch.Lock
		for _, name := range members(c.Name) {
			locks = append(locks, l.Mutex(name))
		}
		return redistest.Must(redlatch.NewMulti(locks...))
	case "fair":
		return l.FairMutex(c.Name)
	case "read":
		return l.RWMutex(c.Name).RLocker()
	}
	return l.RWMutex(c.Name)
}
