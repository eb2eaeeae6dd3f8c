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

// newFairQueue fills a queue. With java, every other waiter is one of Redisson.
func newFairQueue(ctx context.Context, s *scaled, waiters int, java bool) (*fairQueue, error) {
	q := &fairQueue{scaled: s, fair: script.NewFair("fair", 5*time.Minute, protocol.Plain), holder: scaleOwner(0), number: 1}
	if err := s.clear(ctx); err != nil {
		return nil, err
	}
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
		return q.javaQueues(ctx, owner)
	}
	q.queue = append(q.queue, owner)
	if err := q.charge(ctx, cost, "queue", q.fair.Acquire(owner, once, scaleLease, true)); err != nil {
		return err
	}
	return q.charge(ctx, cost, "ask again", q.fair.Acquire(owner, once, scaleLease, true))
}

// javaQueues does what Redisson does for a waiter that comes.
func (q *fairQueue) javaQueues(ctx context.Context, owner string) error {
	deadline := time.Now().Add(scaleLease + time.Duration(len(q.queue))*time.Second).UnixMilli()
	if err := q.command(ctx, "ZADD", protocol.FairDeadlines("fair"), strconv.FormatInt(deadline, 10), owner); err != nil {
		return err
	}
	return q.command(ctx, "RPUSH", protocol.FairQueue("fair"), owner)
}

// javaAcquires does what Redisson does for the head, without the deadlines of the others.
func (q *fairQueue) javaAcquires(ctx context.Context, owner string) error {
	for _, words := range [][]string{
		{"LPOP", protocol.FairQueue("fair")}, {"ZREM", protocol.FairDeadlines("fair"), owner},
		{"HSET", "fair", owner, "1"}, {"PEXPIRE", "fair", strconv.FormatInt(scaleLease.Milliseconds(), 10)},
	} {
		if err := q.command(ctx, words...); err != nil {
			return err
		}
	}
	return nil
}

// javaPrefix begins the owners of Redisson.
const javaPrefix = "5f"

func isJava(owner string) bool { return strings.HasPrefix(owner, javaPrefix) }

// grant has the holder release, the next in turn take the lock, and one more waiter come.
func (q *fairQueue) grant(ctx context.Context, cost samples) error {
	if err := q.charge(ctx, cost, "release", q.fair.Release(q.holder, 0, none, scaleLease)); err != nil {
		return err
	}
	q.holder, q.queue = q.queue[0], q.queue[1:]
	var err error
	if isJava(q.holder) {
		err = q.javaAcquires(ctx, q.holder)
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

// fairColumns are what waiters and holders do.
var fairColumns = []string{"release", "take", "queue", "ask again", "keep-alive", "leave, first", "leave, middle", "leave, last"}

// fairScripts measures each script of a fair lock by how many wait.
func (s *scaled) fairScripts(ctx context.Context, p page) error {
	for _, java := range []bool{false, true} {
		title := "one by one"
		if java {
			title = "every other waiter of Redisson"
		}
		p.line("### Fair lock: µs of Redis a script, %s\n", title)
		var rows [][]string
		for _, waiters := range s.waiters {
			cost, err := s.fairCosts(ctx, waiters, java)
			if err != nil {
				return err
			}
			rows = append(rows, cost.row(strconv.Itoa(waiters), fairColumns))
		}
		p.table(append([]string{"waiters"}, fairColumns...), rows)
	}
	return nil
}

func (s *scaled) fairCosts(ctx context.Context, waiters int, java bool) (samples, error) {
	q, err := newFairQueue(ctx, s, waiters, java)
	if err != nil {
		return nil, err
	}
	cost := samples{}
	if err := q.keepAlive(ctx, nil); err != nil {
		return nil, err
	}
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
