package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// fairQueue is a fair lock with waiters, and their owners in the order of the queue.
type fairQueue struct {
	*scaled
	fair   script.Fair
	holder string
	queue  []string
	number int
}

var (
	once = script.Counts{Writes: 1}
	none = script.Counts{}
)

// fairColumns are what waiters and holders do.
var fairColumns = []string{"release", "take", "queue", "ask again", "keep-alive", "leave, first", "leave, middle", "leave, last"}

// fairCosts measures each script of a fair lock. With java, every other waiter is one of Redisson.
func fairCosts(java bool) func(ctx context.Context, s *scaled, waiters int) (samples, error) {
	return func(ctx context.Context, s *scaled, waiters int) (samples, error) {
		q, err := newFairQueue(ctx, s, waiters, java)
		if err == nil {
			err = q.keepAlive(ctx, nil)
		}
		if err != nil {
			return nil, err
		}
		cost := samples{}
		for i := range s.samples {
			if err := q.grant(ctx, cost); err != nil {
				return nil, fmt.Errorf("%d waiters, grant %d: %w", waiters, i, err)
			}
			for what, at := range map[string]int{"leave, first": 0, "leave, middle": len(q.queue) / 2, "leave, last": len(q.queue) - 1} {
				if err := q.leave(ctx, cost, what, at); err != nil {
					return nil, err
				}
			}
			if i%10 == 0 {
				if err := q.keepAlive(ctx, cost); err != nil {
					return nil, err
				}
			}
		}
		return cost, nil
	}
}

// newFairQueue fills a queue.
func newFairQueue(ctx context.Context, s *scaled, waiters int, java bool) (*fairQueue, error) {
	q := &fairQueue{scaled: s, fair: script.NewFair("fair", 5*time.Minute, protocol.Plain), holder: scaleOwner(0), number: 1}
	if err := s.run(ctx, q.fair.Acquire(q.holder, once, scaleLease, false)); err != nil {
		return nil, err
	}
	for i := range waiters {
		if err := q.come(ctx, java && i%2 == 1, nil); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// come has one more waiter queue up, and ask again as it does once it has subscribed.
func (q *fairQueue) come(ctx context.Context, java bool, cost samples) error {
	owner := scaleOwner(q.number)
	q.number++
	if java {
		owner = javaPrefix + owner[len(javaPrefix):]
		q.queue = append(q.queue, owner)
		deadline := time.Now().Add(scaleLease + time.Duration(len(q.queue))*time.Second).UnixMilli()
		return q.do(ctx,
			[]string{"ZADD", protocol.FairDeadlines("fair"), strconv.FormatInt(deadline, 10), owner},
			[]string{"RPUSH", protocol.FairQueue("fair"), owner})
	}
	q.queue = append(q.queue, owner)
	if err := q.charge(ctx, cost, "queue", q.fair.Acquire(owner, once, scaleLease, true)); err != nil {
		return err
	}
	return q.charge(ctx, cost, "ask again", q.fair.Acquire(owner, once, scaleLease, true))
}

// javaPrefix begins the owners of Redisson.
const javaPrefix = "5f"

func isJava(owner string) bool { return strings.HasPrefix(owner, javaPrefix) }

// grant has the holder release, the next in turn take the lock, and one more waiter come. Redisson
// takes it as here, without the deadlines of the others.
func (q *fairQueue) grant(ctx context.Context, cost samples) error {
	if err := q.charge(ctx, cost, "release", q.fair.Release(q.holder, 0, none, scaleLease)); err != nil {
		return err
	}
	q.holder, q.queue = q.queue[0], q.queue[1:]
	var err error
	if isJava(q.holder) {
		err = q.do(ctx,
			[]string{"LPOP", protocol.FairQueue("fair")}, []string{"ZREM", protocol.FairDeadlines("fair"), q.holder},
			[]string{"HSET", "fair", q.holder, "1"}, []string{"PEXPIRE", "fair", strconv.FormatInt(scaleLease.Milliseconds(), 10)})
	} else {
		err = q.charge(ctx, cost, "take", q.fair.Acquire(q.holder, once, scaleLease, true))
	}
	if err != nil {
		return err
	}
	return q.come(ctx, isJava(q.holder), cost)
}

// leave has the waiter at an index give up, or the nearest one of redlatch, and another one come.
func (q *fairQueue) leave(ctx context.Context, cost samples, what string, at int) error {
	at = q.nearest(at)
	if at < 0 {
		return fmt.Errorf("nobody of redlatch waits")
	}
	owner := q.queue[at]
	q.queue = append(q.queue[:at], q.queue[at+1:]...)
	if err := q.charge(ctx, cost, what, q.fair.Release(owner, 0, none, scaleLease)); err != nil {
		return err
	}
	return q.come(ctx, false, nil)
}

// nearest is the index of the waiter of redlatch that stands nearest to an index, or -1.
func (q *fairQueue) nearest(at int) int {
	for far := range q.queue {
		for _, i := range []int{at - far, at + far} {
			if i >= 0 && i < len(q.queue) && !isJava(q.queue[i]) {
				return i
			}
		}
	}
	return -1
}

// keepAlive sends that of every client.
func (q *fairQueue) keepAlive(ctx context.Context, cost samples) error {
	owners := map[string][]string{}
	for _, owner := range q.queue {
		client, _, _ := protocol.ParseOwner(owner)
		if !isJava(owner) && len(owners[client]) < script.MaxKeptAlive {
			owners[client] = append(owners[client], owner)
		}
	}
	for client, some := range owners {
		if err := q.charge(ctx, cost, "keep-alive", q.fair.KeepAlive(client, some, nil)); err != nil {
			return err
		}
	}
	return nil
}
