package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// What fair and read-write locks cost the server, by how many take part.

const (
	// scaleLease is longer than any part of the measurement.
	scaleLease = 10 * time.Minute
	// scaleTimeout is enough for commands while thousands begin at once.
	scaleTimeout = time.Minute
	// libraryClients share the waiters of the whole library, each in a process of its own.
	libraryClients = 4
	// goalWaiters is the row that has a goal.
	goalWaiters = 5000
)

// growth is a table of what each script costs, by how many take part.
type growth struct {
	name, title, who string
	counts           []int
	columns          []string
	measure          func(ctx context.Context, s *scaled, n int) error
}

func (b *bench) scaleContests() (all []contest) {
	waiters, readers := []int{10, 100, 1000, goalWaiters, 10_000}, []int{10, 100, 1000, 10_000, 80_000}
	for _, g := range []growth{
		{"fair scripts", "Fair lock: µs of Redis a script, one by one", "waiters", waiters, fairColumns, fairCosts(false)},
		{"fair scripts with Redisson", "Fair lock: µs of Redis a script, every other waiter of Redisson", "waiters", waiters, fairColumns, fairCosts(true)},
		{"fair library", "Fair lock: µs of Redis a grant, all commands of the library", "waiters", waiters, nil, nil},
		{"read-write scripts", "Read-write lock: µs of Redis a script", "readers", readers, rwColumns, rwCosts},
	} {
		c := contest{name: g.name, part: "scale", extra: true, title: g.title, rounds: 1, columns: columns("%.0f", g.columns...)}
		for _, n := range g.counts {
			if n = b.plan.size(n); slices.Contains(c.sizes, n) {
				continue
			}
			c.sizes = append(c.sizes, n)
			name := fmt.Sprintf("%d %s", n, g.who)
			if g.measure == nil {
				c.rows = append(c.rows, b.libraryRow(name, n))
				continue
			}
			c.rows = append(c.rows, b.scaleRow(name, func(ctx context.Context, s *scaled) error { return g.measure(ctx, s, n) }))
		}
		if g.measure == nil {
			c.columns = append(columns("%.1f", figureScriptsEach), columns("%.0f", figureScriptTime, figureListenTime, figureServerTime)...)
			c.goals = []goal{atMost(100, fmt.Sprintf("time of Redis for a grant of a fair lock, µs, %d waiters", goalWaiters),
				of(c.name, fmt.Sprintf("%d waiters", goalWaiters), figureServerTime))}
		}
		all = append(all, c)
	}
	return all
}

// libraryRow has so many wait, and one more hold the lock.
func (b *bench) libraryRow(name string, n int) row {
	return b.contentionRow(name, contention{
		who: slices.Repeat([]contestant{fair}, libraryClients), workers: (n + libraryClients) / libraryClients,
		warmUp: 10 * time.Second, length: 2 * time.Second,
	})
}

// scaled is a server with one connection to run scripts on, and what they cost it.
type scaled struct {
	meter
	driver  *rueidis.Driver
	runner  *script.Runner
	samples int                  // calls of each kind
	costs   map[string][]float64 // in microseconds, by what was called
	figures figures              // the medians of the costs, and what else is known
}

// scaleRow is measured on a server without keys, and leaves none.
func (b *bench) scaleRow(name string, measure func(ctx context.Context, s *scaled) error) row {
	return row{name: name, slice: func(ctx context.Context, _ int) (figures, error) {
		d, err := rueidis.Open(ctx, rueidis.Options{Address: b.server.address, CommandTimeout: scaleTimeout})
		if err != nil {
			return nil, err
		}
		defer d.Close()
		s := &scaled{
			meter: b.server.meter, driver: d, runner: script.NewRunner(d, scaleTimeout), samples: b.plan.size(100),
			costs: map[string][]float64{}, figures: figures{},
		}
		if err := s.do(ctx, []string{"FLUSHALL"}); err != nil {
			return nil, err
		}
		if err := measure(ctx, s); err != nil {
			return nil, err
		}
		for what, costs := range s.costs {
			if len(costs) >= s.samples/4 { // a median of few is none
				s.figures[what] = median(costs)
			}
		}
		return s.figures, s.do(ctx, []string{"FLUSHALL"})
	}}
}

// do carries out commands and ignores what they answer.
func (s *scaled) do(ctx context.Context, commands ...[]string) error {
	for _, words := range commands {
		if err := s.command(ctx, words...).Error(); err != nil {
			return err
		}
	}
	return nil
}

// run carries out calls in pipelines. Each must be answered without an error.
func (s *scaled) run(ctx context.Context, calls ...script.Call) (last driver.Reply, err error) {
	for some := range slices.Chunk(calls, 1000) {
		results, err := s.runner.RunAll(ctx, some...)
		for _, r := range results {
			if last = r.Reply; err == nil {
				err = last.Err
			}
		}
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// charge carries out a call, and notes the time that the server spends in it unless it has no name.
func (s *scaled) charge(ctx context.Context, what string, call script.Call) (driver.Reply, error) {
	if what == "" {
		return s.run(ctx, call)
	}
	before, err := s.work(ctx)
	if err != nil {
		return driver.Reply{}, err
	}
	reply, err := s.run(ctx, call)
	if err != nil {
		return reply, err
	}
	after, err := s.work(ctx)
	s.costs[what] = append(s.costs[what], after.minus(before)[countScriptTime])
	return reply, err
}

// acquire charges an acquisition, which is to be granted or not.
func (s *scaled) acquire(ctx context.Context, what string, call script.Call, want bool) error {
	reply, err := s.charge(ctx, what, call)
	if err != nil {
		return err
	}
	got, err := script.ReadAcquired(reply)
	if err == nil && got.Granted != want {
		err = fmt.Errorf("%s: granted is %v: %+v", what, got.Granted, got)
	}
	return err
}

var (
	once = script.Counts{Writes: 1}
	none = script.Counts{}
)

// scaleOwner is the owner of a number. Ten clients share all owners.
func scaleOwner(n int) string {
	const clients = 10
	return protocol.Owner("4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f0"+strconv.Itoa(n%clients), int64(n+1))
}

// fairQueue is the owners of a fair lock: the holder, and its waiters in the order of the queue.
type fairQueue struct {
	*scaled
	owners []string
	number int
}

var (
	fairLock = script.NewFair("fair", 5*time.Minute, protocol.Plain)
	// fairColumns are what waiters and holders do.
	fairColumns = []string{"release", "take", "queue", "ask again", "keep-alive", "leave, first", "leave, middle", "leave, last"}
)

// fairCosts measures each script of a fair lock. With java, every other waiter is one of Redisson.
func fairCosts(java bool) func(ctx context.Context, s *scaled, waiters int) error {
	return func(ctx context.Context, s *scaled, waiters int) error {
		q := &fairQueue{scaled: s}
		for i := range waiters + 1 {
			if err := q.come(ctx, java && i%2 == 1, ""); err != nil {
				return err
			}
		}
		// First all are granted and then all leave. If both happened in turn, the waiters of redlatch near the
		// front would leave before any of them is granted the lock.
		for i := range 2 * s.samples {
			charged := ""
			if i%10 == 0 {
				charged = "keep-alive"
			}
			if err := q.keepAlive(ctx, charged); err != nil {
				return err
			}
			if i < s.samples {
				if err := q.grant(ctx); err != nil {
					return fmt.Errorf("grant %d: %w", i, err)
				}
				continue
			}
			for what, at := range map[string]int{"leave, first": 1, "leave, middle": len(q.owners) / 2, "leave, last": len(q.owners) - 1} {
				if err := q.leave(ctx, what, at); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// javaPrefix begins the owners of Redisson.
const javaPrefix = "5f"

func isJava(owner string) bool { return strings.HasPrefix(owner, javaPrefix) }

// come has one more queue up, and ask again as a waiter does once it has subscribed. Whoever comes first
// gets the lock.
func (q *fairQueue) come(ctx context.Context, java bool, charged string) error {
	owner := scaleOwner(q.number)
	if java {
		owner = javaPrefix + owner[len(javaPrefix):]
	}
	q.number++
	q.owners = append(q.owners, owner)
	if java {
		deadline := time.Now().Add(scaleLease + time.Duration(len(q.owners))*time.Second).UnixMilli()
		return q.do(ctx,
			[]string{"ZADD", protocol.FairDeadlines("fair"), strconv.FormatInt(deadline, 10), owner},
			[]string{"RPUSH", protocol.FairQueue("fair"), owner})
	}
	again := ""
	if charged != "" {
		again = "ask again"
	}
	for _, what := range []string{charged, again} {
		if err := q.acquire(ctx, what, fairLock.Acquire(owner, once, scaleLease, true), len(q.owners) == 1); err != nil {
			return err
		}
	}
	return nil
}

// grant has the holder release, the next in turn take the lock, and one more waiter come. Redisson
// takes it as here, without the deadlines of the others.
func (q *fairQueue) grant(ctx context.Context) error {
	if _, err := q.charge(ctx, "release", fairLock.Release(q.owners[0], 0, none, scaleLease)); err != nil {
		return err
	}
	q.owners = q.owners[1:]
	next := q.owners[0]
	var err error
	if isJava(next) {
		err = q.do(ctx,
			[]string{"LPOP", protocol.FairQueue("fair")}, []string{"ZREM", protocol.FairDeadlines("fair"), next},
			[]string{"HSET", "fair", next, "1"}, []string{"PEXPIRE", "fair", strconv.FormatInt(scaleLease.Milliseconds(), 10)})
	} else {
		err = q.acquire(ctx, "take", fairLock.Acquire(next, once, scaleLease, true), true)
	}
	if err != nil {
		return err
	}
	return q.come(ctx, isJava(next), "queue")
}

// leave has the waiter at an index give up, or the nearest one of redlatch, and another one come.
func (q *fairQueue) leave(ctx context.Context, what string, at int) error {
	for far := range q.owners {
		for _, i := range []int{at - far, at + far} {
			if i < 1 || i >= len(q.owners) || isJava(q.owners[i]) {
				continue
			}
			owner := q.owners[i]
			q.owners = slices.Delete(q.owners, i, i+1)
			if _, err := q.charge(ctx, what, fairLock.Release(owner, 0, none, scaleLease)); err != nil {
				return err
			}
			return q.come(ctx, false, "")
		}
	}
	return fmt.Errorf("nobody of redlatch waits")
}

// keepAlive sends that of every client.
func (q *fairQueue) keepAlive(ctx context.Context, charged string) error {
	owners := map[string][]string{}
	for _, owner := range q.owners[1:] {
		client, _, _ := protocol.ParseOwner(owner)
		if !isJava(owner) && len(owners[client]) < script.MaxKeptAlive {
			owners[client] = append(owners[client], owner)
		}
	}
	for client, some := range owners {
		if _, err := q.charge(ctx, charged, fairLock.KeepAlive(client, some, nil)); err != nil {
			return err
		}
	}
	return nil
}
