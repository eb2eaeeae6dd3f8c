package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Permits of both semaphores, taken and put back, beside their scripts alone. Each goroutine has its own
// semaphore, with one permit.

const (
	namePermits       = "redlatch, PermitSemaphore"
	nameRawPermits    = "raw scripts of a PermitSemaphore"
	nameSemaphore     = "redlatch, Semaphore"
	nameRawSemaphores = "raw scripts of a Semaphore"
)

// permitPairs are what redlatch adds, and to what.
var permitPairs = [][2]entrant{
	{{name: namePermits, open: openPermits}, {name: nameRawPermits, open: openRawPermits}},
	{{name: nameSemaphore, open: openSemaphores}, {name: nameRawSemaphores, open: openRawSemaphores}},
}

// permitEntrants are the rows of the table.
func permitEntrants() (all []entrant) {
	for _, pair := range permitPairs {
		all = append(all, pair[1], pair[0])
	}
	return all
}

// permitsContestant has semaphores.
type permitsContestant struct {
	*redlatchContestant
	worker func(c *redlatch.Client, name string) worker
}

// Worker returns a worker on a semaphore that has one permit.
func (c *permitsContestant) Worker(name string) worker { return c.worker(c.client, name) }

func openPermits(ctx context.Context, address string, wire *wire) (contestant, error) {
	c, err := openRedlatch(ctx, address, wire)
	return &permitsContestant{c, func(c *redlatch.Client, name string) worker {
		s := c.PermitSemaphore(name)
		_, err := s.TrySetPermits(context.Background(), 1)
		return &permitWorker{semaphore: s, err: err}
	}}, err
}

type permitWorker struct {
	semaphore *redlatch.PermitSemaphore
	hold      *redlatch.Hold
	err       error // of the first request
}

// Lock takes the permit.
func (w *permitWorker) Lock(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	hold, err := w.semaphore.Acquire(ctx)
	w.hold = hold
	return err
}

// Unlock puts it back.
func (w *permitWorker) Unlock(ctx context.Context) error { return w.hold.Unlock(ctx) }

func openSemaphores(ctx context.Context, address string, wire *wire) (contestant, error) {
	c, err := openRedlatch(ctx, address, wire)
	return &permitsContestant{c, func(c *redlatch.Client, name string) worker {
		s := c.Semaphore(name)
		_, err := s.TrySetPermits(context.Background(), 1)
		return &semaphoreWorker{s, err}
	}}, err
}

type semaphoreWorker struct {
	semaphore *redlatch.Semaphore
	err       error // of the first request
}

// Lock takes the permit.
func (w *semaphoreWorker) Lock(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	return w.semaphore.Acquire(ctx, 1)
}

// Unlock puts it back.
func (w *semaphoreWorker) Unlock(ctx context.Context) error { return w.semaphore.Release(ctx, 1) }

// rawPermits sends the scripts of redlatch without redlatch.
type rawPermits struct {
	client rueidis.Client
	calls  func(name string) (take, put script.Call)
	number int // which of the words is the number of a request, 0 for none
}

func openRawPermits(ctx context.Context, address string, wire *wire) (contestant, error) {
	client, err := bareClient(ctx, address, wire)
	return &rawPermits{client, func(name string) (take, put script.Call) {
		p, id := script.NewPermits(name, protocol.Plain), hex.EncodeToString([]byte("sixteen bytes id"))
		return p.Acquire(id, script.Counts{}, 30*time.Second, true), p.Release(id, 0, script.Counts{}, 0)
	}, 0}, err
}

func openRawSemaphores(ctx context.Context, address string, wire *wire) (contestant, error) {
	client, err := bareClient(ctx, address, wire)
	return &rawPermits{client, func(name string) (take, put script.Call) {
		s := script.NewSemaphore(name, protocol.Plain)
		r := script.Request{Record: protocol.RequestKey(name, "00000000-0000-4000-8000-000000000000", 1), Number: 1, Keep: time.Minute}
		return s.Acquire(1, r), s.Add(1, r)
	}, 6}, err // EVALSHA digest 2 counter record permits number
}

// Worker prepares the two requests, and makes the semaphore.
func (c *rawPermits) Worker(name string) worker {
	w := &rawPermitWorker{client: c.client, number: c.number}
	w.err = c.client.Do(context.Background(), c.client.B().Set().Key(name).Value("1").Build()).Error()
	take, put := c.calls(name)
	for i, call := range []script.Call{take, put} {
		words := call.WithSource().Words
		digest, err := c.client.Do(context.Background(), c.client.B().ScriptLoad().Script(words[1]).Build()).ToString()
		if w.err == nil {
			w.err = err
		}
		w.requests[i] = append([]string{"EVALSHA", digest}, words[2:]...)
	}
	return w
}

// Close ends the connection.
func (c *rawPermits) Close() { c.client.Close() }

type rawPermitWorker struct {
	client   rueidis.Client
	requests [2][]string
	number   int
	last     int64
	err      error // of the first requests
}

// Lock sends the first request.
func (w *rawPermitWorker) Lock(ctx context.Context) error { return w.send(ctx, w.requests[0]) }

// Unlock sends the second.
func (w *rawPermitWorker) Unlock(ctx context.Context) error { return w.send(ctx, w.requests[1]) }

func (w *rawPermitWorker) send(ctx context.Context, words []string) error {
	if w.err != nil {
		return w.err
	}
	if w.number > 0 {
		w.last++
		words[w.number] = strconv.FormatInt(w.last, 10)
	}
	n, err := w.client.Do(ctx, w.client.B().Arbitrary(words...).Build()).AsInt64()
	if err == nil && n < 0 {
		err = fmt.Errorf("a script that is to take or put back a permit answered %d", n)
	}
	return err
}

// measurePermits lets the entrants take turns, alone and many at once.
func measurePermits(ctx context.Context, b *bench) (tables []pairTable, err error) {
	for _, goroutines := range []int{1, mostGoroutines} {
		table, err := measureTurns(ctx, b, goroutines, permitEntrants())
		if err != nil {
			return nil, err
		}
		tables = append(tables, table)
	}
	return tables, nil
}

func (p page) permits(t pairTable) {
	p.line("### Permits taken and put back, %s, each its own semaphore\n", goroutines(t.goroutines))
	var rows [][]string
	for _, pair := range permitPairs {
		for _, e := range []entrant{pair[1], pair[0]} {
			of := func(figure func(pairRun) float64) float64 { return column(t.runs[e.name], figure) }
			rows = append(rows, []string{
				e.name,
				fmt.Sprintf("%.1f", of(pairRun.micros)),
				fmt.Sprintf("%.0f", of(pairRun.perSecond)),
				fmt.Sprintf("%.2f", ratios(t.runs[e.name], t.runs[pair[1].name], pairRun.perSecond)),
				fmt.Sprintf("%.1f", of(pairRun.cpuMicros)),
				fmt.Sprintf("%.1f", of(pairRun.serverMicros)),
				figure("%.1f", of(func(r pairRun) float64 { return r.per(r.allocs) })),
				figure("%.2f", of(func(r pairRun) float64 { return r.per(r.writes) })),
			})
		}
	}
	p.table([]string{"", "µs/pair", "pairs/s", "× raw scripts", "own CPU, µs", "server CPU, µs", "allocations", "writes"}, rows)
}

func permitGoals(t pairTable) (goals []goal) {
	for _, pair := range permitPairs {
		if t.goroutines == mostGoroutines {
			against := ratios(t.runs[pair[0].name], t.runs[pair[1].name], pairRun.perSecond)
			goals = append(goals, atLeast(0.9, against, "pairs/s of "+pair[0].name+", × raw scripts at "+goroutines(t.goroutines)))
		}
	}
	return goals
}
