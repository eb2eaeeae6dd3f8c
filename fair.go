package redlatch

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// FairMutex is an exclusive lock that is served in the order in which it was asked for,
// across goroutines, processes and languages. It is the lock that Redisson calls
// FairLock, and shares one queue with Java processes.
//
// Every waiter stands in the queue in Redis. A process says once a second that its
// waiters are alive; one that has not been heard of for 3.5 s is passed over, and so is a
// Java waiter whose deadline has passed. A Mutex of the same name is excluded as well,
// but does not queue.
//
// A FairMutex holds no state; see Mutex.
type FairMutex struct {
	client *Client
	point  point
	fair   script.Fair
}

// FairMutex returns the fair mutex called name. It does not touch Redis. A name that
// cannot be one is reported by every verb as ErrInvalidName.
func (c *Client) FairMutex(name string) *FairMutex {
	m := &FairMutex{client: c, point: point{name: name}}
	if err := c.checkName(name); err != nil {
		m.point.err = fmt.Errorf("redlatch: %w: %w", ErrInvalidName, err)
		return m
	}
	m.fair = script.NewFair(name, c.config.FairWait, c.messages)
	m.point.channel = protocol.LockChannel(name)
	m.point.held = heldKey{c, place{name: name}}
	m.point.kind = queueing{m.fair, exclusive{name, m.point.channel, c.messages}}
	return m
}

// Name is the name the mutex was made with.
func (m *FairMutex) Name() string { return m.point.name }

// Lock waits for its turn and until the mutex is held, ctx ends, or the time of WithWait
// has passed. For options and errors see Mutex.Lock. After an error the waiter has left
// the queue, and if it stood at the front of it while the lock was free, the next has been
// told.
//
// Beside the hash of a Mutex, Redis has, while somebody waits, the list
// "redisson_lock_queue:{name}" of owners, the sorted set "redisson_lock_timeout:{name}" of
// their deadlines, and "redlatch:fair:{name}" with the last sign of life of those that are
// waiters of this library.
//
// Source: Redisson's RFairLock, and its algorithm since 3.11.1.
func (m *FairMutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, &m.point, forever, opts)
}

// TryLock takes the mutex if it is free and nobody is waiting for it. It does not queue.
// See Lock.
func (m *FairMutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, &m.point, 0, opts)
}

// ForceUnlock frees the mutex, whoever holds it, and wakes the next waiter. The queue
// stays. See Mutex.ForceUnlock.
func (m *FairMutex) ForceUnlock(ctx context.Context) (bool, error) {
	return m.client.force(ctx, &m.point, m.fair.Force())
}

// Status reads who holds the mutex and who waits for it, in the order of the queue. It
// changes nothing. See Mutex.Status.
func (m *FairMutex) Status(ctx context.Context) (Status, error) {
	replies, err := m.client.askAll(ctx, &m.point, "status of",
		script.Status(m.point.name, protocol.TokenKey(m.point.name)), m.fair.Queue())
	if err != nil {
		return Status{}, err
	}
	state, err := script.ReadStatus(replies[0])
	if err != nil {
		return Status{}, failure("status of", m.point.name, err)
	}
	queue, err := script.ReadQueue(replies[1])
	if err != nil {
		return Status{}, failure("status of", m.point.name, err)
	}
	status, err := mutexStatus(m.point.name, state)
	for _, w := range queue {
		status.Queue = append(status.Queue, Waiter(w))
	}
	return status, err
}

// queueing is a fair mutex.
type queueing struct {
	fair script.Fair
	exclusive
}

func (k queueing) acquire(owner string, counts script.Counts, lease time.Duration, wait bool) script.Call {
	return k.fair.Acquire(owner, lease, counts.Writes, wait)
}

func (k queueing) release(owner string, _ int, counts script.Counts, lease time.Duration) script.Call {
	return k.fair.Release(owner, counts.Writes, lease)
}

func (queueing) handsOver() bool { return false }
func (queueing) queues() bool    { return true }

// line is the waiter's own channel: only the next in turn is told.
func (k queueing) line(owner string) string { return k.channel + ":" + owner }
