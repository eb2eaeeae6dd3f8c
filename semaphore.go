package redlatch

import (
	"context"
	"fmt"
	"math"

	"github.com/redlatch/redlatch/internal/counter"
)

// Semaphore is a number of permits that nobody owns: any process may take some, and any may put some
// back. Redisson calls it RSemaphore, and Java processes can share it. The permits of a process that
// dies stay taken. Use a PermitSemaphore if they must become available again.
type Semaphore struct{ count counter.Semaphore }

// Semaphore returns the semaphore called name. It does not touch Redis. Its methods report a name
// that is not valid as ErrInvalidName.
func (c *Client) Semaphore(name string) *Semaphore {
	return &Semaphore{c.counters.Semaphore(name)}
}

// Name is the name the semaphore was made with.
func (s *Semaphore) Name() string { return s.count.Name() }

// TrySetPermits creates the semaphore with n permits, from 0 to 2^31-1. It reports false, and changes
// nothing, if the semaphore exists already. In Redis the key named after the semaphore is then the number of
// permits that are available, without TTL. It blocks for one round trip, bounded by ctx and
// Config.CommandTimeout.
//
// Errors: ErrUnknownOutcome, if no reply came in time: the permits may be set. The error of ctx, if it
// had ended before: nothing was sent. ErrWrongType, ErrInvalidName, ErrClosed, *ConfigError; errors of the
// network and the server.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	return trySetPermits(ctx, s.count, n)
}

// AddPermits changes by n how many permits the semaphore has, and creates it if there is none. A
// negative n removes permits, even those that are in use: nobody gets a permit until enough have been
// released. A TTL of the key stays.
//
// Errors: those of TrySetPermits. ErrUnsupported, if the number would not fit into an int of Java:
// nothing was added. After ErrUnknownOutcome the permits may have been added.
func (s *Semaphore) AddPermits(ctx context.Context, n int) error { return addPermits(ctx, s.count, n) }

// Available is how many permits can be taken now. It is negative if more are in use than the semaphore has, and 0 if
// there is none. It changes nothing. Errors: those of TrySetPermits, except ErrUnknownOutcome.
func (s *Semaphore) Available(ctx context.Context) (int, error) { return s.count.Available(ctx) }

// Drain takes all permits that are available, and returns how many. It does not wait. In Redis the number
// is then 0, and it stays as it is if it was 0 or negative. Errors: those of TrySetPermits. After
// ErrUnknownOutcome permits may have been taken.
func (s *Semaphore) Drain(ctx context.Context) (int, error) { return s.count.Drain(ctx) }

// Acquire waits until it has taken n permits at once, or ctx ends. The number in Redis is then lower by n.
// Nothing else bounds the wait. Acquire waits even for more permits than the semaphore has, because
// somebody may add some. Waiters of one process are served in the order of arrival, however many permits
// each wants, and one of them asks for several. Between processes there is no order.
//
// A request whose reply is lost is repeated, and takes its permits once. This needs a key with the prefix "redlatch:request", which lives for four minutes, or longer if the timeouts of
// Config are long.
//
// Errors:
//
//   - ErrNotAcquired, joined with ctx's error. Nothing was taken.
//   - ErrUnknownOutcome, if no reply came in time, neither to the request nor to its cancellation. The
//     permits may stay taken. The request may be that of another waiter.
//   - ErrWrongType, ErrInvalidName, ErrClosed, *ConfigError; errors of the network and the server.
//
// Source: RSemaphore.acquire and tryAcquire of Redisson; docs/wire-format.md, "Semaphore".
func (s *Semaphore) Acquire(ctx context.Context, n int) error {
	if err := inCount("Acquire", n, 1); err != nil {
		return err
	}
	return s.count.Acquire(ctx, n)
}

// TryAcquire takes n permits if they are available, and reports whether it did. It asks Redis once and
// may overtake waiters. For errors see Acquire.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (bool, error) {
	if err := inCount("TryAcquire", n, 1); err != nil {
		return false, err
	}
	return s.count.TryAcquire(ctx, n)
}

// Release puts n permits back and wakes waiters. It works with a context that has ended:
// Config.ReleaseTimeout bounds it instead. Nobody checks that the permits were taken before. If there
// is no semaphore, it creates one with n permits. Client.Shutdown waits for it, and admits it. Client.Close
// does not release: call Release before it.
//
// Errors: those of AddPermits. ErrUnknownOutcome means that no answer came in time. The client then repeats
// the request aside for two minutes at least, and it takes effect once: do not repeat the call.
//
// Source: RSemaphore.release of Redisson; docs/wire-format.md, "Semaphore".
func (s *Semaphore) Release(ctx context.Context, n int) error {
	if err := inCount("Release", n, 1); err != nil {
		return err
	}
	return s.count.Release(ctx, n)
}

func trySetPermits(ctx context.Context, s counter.Semaphore, n int) (bool, error) {
	if err := inCount("TrySetPermits", n, 0); err != nil {
		return false, err
	}
	return s.TrySet(ctx, n)
}

func addPermits(ctx context.Context, s counter.Semaphore, n int) error {
	if err := inCount("AddPermits", n, -math.MaxInt32); err != nil {
		return err
	}
	return s.Add(ctx, n)
}

// inCount says why n cannot be a count of permits, or nil.
func inCount(verb string, n, least int) error {
	if n < least || n > math.MaxInt32 {
		return &ConfigError{Field: verb, Reason: fmt.Sprintf("%d is not between %d and %d", n, least, math.MaxInt32)}
	}
	return nil
}
