package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/counter"
)

// Latch is closed until it has been counted down to zero. Any number of goroutines and processes wait
// for that. Redisson calls it RCountDownLatch, and Java processes can share it. In a Cluster its name must
// not have braces, because Redisson then puts its channel and its key on two servers.
type Latch struct{ count counter.Latch }

// Latch returns the latch called name. It does not touch Redis. Its methods report a name that is not
// valid as ErrInvalidName.
func (c *Client) Latch(name string) *Latch { return &Latch{c.counters.Latch(name)} }

// Name is the name the latch was made with.
func (l *Latch) Name() string { return l.count.Name() }

// TrySetCount closes the latch with the count n, from 1 to 2^31-1. It reports false, and changes
// nothing, if it is closed already. In Redis the key named after the latch is then the count, without
// TTL. An open latch has no key. It blocks for one round trip, bounded by ctx and Config.CommandTimeout.
//
// Errors: ErrUnknownOutcome, if no reply came in time: the count may be set. The error of ctx, if it had
// ended before: nothing was sent. ErrWrongType, ErrInvalidName, ErrClosed, *ConfigError; errors of the
// network and the server.
func (l *Latch) TrySetCount(ctx context.Context, n int) (bool, error) {
	if err := inCount("TrySetCount", n, 1); err != nil {
		return false, err
	}
	return l.count.TrySet(ctx, n)
}

// CountDown lowers the count by one. At zero the latch opens, and all waiters go on. It does nothing
// to an open latch. A request whose reply is lost is repeated, and counts once. CountDown works with a
// context that has ended, and during Client.Shutdown: Config.ReleaseTimeout bounds it.
//
// Errors: those of TrySetCount, except the error of ctx. ErrUnknownOutcome means that no answer came in
// time. The client then repeats the request aside for two minutes at least: do not repeat the call.
//
// Source: RCountDownLatch.countDown of Redisson; docs/wire-format.md, "Latch".
func (l *Latch) CountDown(ctx context.Context) error { return l.count.CountDown(ctx) }

// Count is how often the latch has to be counted down, 0 if it is open. It changes nothing. Errors: those
// of TrySetCount, except ErrUnknownOutcome.
func (l *Latch) Count(ctx context.Context) (int, error) { return l.count.Count(ctx) }

// Wait waits until the latch is open, or ctx ends. It returns at once if the latch is open, and leaves
// nothing in Redis. If the latch opens and is closed again between two requests of Wait, Wait may miss it
// and wait for the next opening.
//
// Errors: ErrNotAcquired, joined with ctx's error; ErrWrongType, ErrInvalidName, ErrClosed; errors of
// the network and the server.
//
// Source: RCountDownLatch.await of Redisson; docs/wire-format.md, "Latch".
func (l *Latch) Wait(ctx context.Context) error { return l.count.Wait(ctx) }
