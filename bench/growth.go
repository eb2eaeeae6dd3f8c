package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/watchdog"
)

// What one operation takes of Redis, by how many waiters, holders, locks and clients there are. Each row of
// the table is one number of them, and the picture of the documentation has a line of each column.

const (
	figureReader  = "RWMutex, readers that hold it"
	figurePair    = "another lock, locks held"
	figureRenewal = "a renewal, locks held"
	figureRun     = "a look of the watchdog, clients that run"
	figurePaused  = "a look of the watchdog, paused clients"
	figureLook    = "a look at all locks, locks"

	ofWaiters   = ", waiters"
	ofProcesses = ", processes that wait"

	// growthSteps is how often a reader enters and leaves, and how often another lock is taken.
	growthSteps = 2000
	// scaleTimeout is enough for commands while thousands begin at once.
	scaleTimeout = time.Minute
	// waitingClients share the waiters. A client is to Redis what a process is.
	waitingClients = 4
	// With more waiters, a busy machine takes minutes to let them all queue.
	mostWaiters, mostProcesses = 10_000, 1000
	// goalWaiters is the row that has a goal.
	goalWaiters = "10000"
)

// waited are the locks that are waited for.
var waited = []struct {
	name string
	contestant
}{{"FairMutex", fair}, {"Mutex", mutex}}

func (b *bench) growth() contest {
	c := contest{
		name: "growth", part: "scale", extra: true, rounds: 1,
		title: "µs of Redis for one operation, by how many there are of what the head of the column ends with",
		goals: []goal{atMost(100, "time of Redis for a grant of a fair lock, µs, "+goalWaiters+" waiters",
			of("growth", goalWaiters, figureServerTime))},
	}
	for _, lock := range waited {
		c.columns = append(c.columns, columns("%.1f", lock.name+ofWaiters, lock.name+ofProcesses)...)
	}
	c.columns = append(c.columns, columns("%.1f", figureReader, figurePair, figureRenewal, figureRun, figurePaused, figureLook)...)
	for n := 1; n <= b.plan.size(manyHolds); n *= 10 {
		c.rows = append(c.rows, row{name: strconv.Itoa(n), slice: func(ctx context.Context, _ int) (figures, error) { return b.grow(ctx, n) }})
	}
	return c
}

// grow measures with so many.
func (b *bench) grow(ctx context.Context, n int) (f figures, err error) {
	f = figures{}
	for _, part := range []func(context.Context, *redlatch.Client, int, figures) error{b.growReaders, b.growHolds, b.growClients} {
		c, err := redlatch.Open(ctx, "redis://"+b.server.address, redlatch.Config{CommandTimeout: scaleTimeout, ReleaseTimeout: scaleTimeout})
		if err != nil {
			return nil, err
		}
		if err := errors.Join(part(ctx, c, n, f), c.Close(ctx)); err != nil {
			return nil, err
		}
	}
	return f, b.growWaiters(ctx, n, f)
}

// growWaiters measures a grant with its release while so many others wait.
func (b *bench) growWaiters(ctx context.Context, n int, f figures) error {
	for _, lock := range waited {
		for _, of := range []string{ofProcesses, ofWaiters} {
			clients, most := n+1, mostProcesses // and one more holds the lock
			if of == ofWaiters {
				clients, most = min(clients, waitingClients), mostWaiters
			}
			if n > b.plan.size(most) {
				continue
			}
			one, err := b.contend(ctx, contention{
				who: []contestant{lock.contestant}, workers: n + 1, clients: clients,
				warmUp: b.plan.time(time.Second + time.Duration(n)*400*time.Microsecond), length: b.plan.time(2 * time.Second),
			})
			if err != nil {
				return err
			}
			f[lock.name+of] = one[figureServerCPU]
			if of == ofWaiters && lock.name == waited[0].name {
				f[figureServerTime] = one[figureServerTime]
			}
		}
	}
	return nil
}

// growReaders measures how one more reader enters and leaves.
func (b *bench) growReaders(ctx context.Context, c *redlatch.Client, n int, f figures) error {
	m := c.RWMutex(freshName("read"))
	read := func() worker {
		return holds(func(ctx context.Context) (*redlatch.Hold, error) { return m.RLock(ctx) })
	}
	if err := inParallel(n, func(int) error { return read().lock(ctx) }); err != nil {
		return err
	}
	return b.spent(ctx, f, figureReader, countCPU, growthSteps, func() error { return repeat(ctx, read()) })
}

func repeat(ctx context.Context, w worker) (err error) {
	for i := 0; i < growthSteps && err == nil; i++ {
		err = w.once(ctx)
	}
	return err
}

// growHolds measures with so many locks that one owner holds.
func (b *bench) growHolds(ctx context.Context, c *redlatch.Client, n int, f figures) (err error) {
	const owner, lease, together = "8743c9c0-0795-4907-87fd-6c719a6b4586:1", 5 * time.Minute, 100 // one request of a client renews so many
	own, once, runner := freshName("own"), script.Counts{Writes: 1}, script.NewRunner(c.Driver(), scaleTimeout)
	defer func() { err = errors.Join(err, c.Driver().Do(ctx, driver.Command{Words: []string{"FLUSHALL"}}).Err) }()
	lock := func(i int) script.Mutex { return script.Mutex{Lock: fmt.Sprint(own, i)} }
	err = inParallel(n, func(i int) error { _, err := runner.Run(ctx, lock(i).Acquire(owner, once, lease, false)); return err })
	var batch []script.Renewal
	for i := range min(n, together) {
		batch = append(batch, lock(i).Renewal(owner, once, false, lease))
	}
	err = errors.Join(err, b.spent(ctx, f, figureRenewal, countCPU, growthSteps*len(batch), func() (err error) {
		for i := 0; i < growthSteps && err == nil; i++ {
			var r script.Result
			if r, err = runner.Run(ctx, script.Renew(batch)); err != nil {
				return err
			}
			var renewed []script.Renewed
			if renewed, err = script.ReadRenewed(r.Reply, len(batch)); err == nil && !renewed[0].Held {
				err = errors.New("a lock is not held")
			}
		}
		return err
	}))
	if err != nil {
		return err
	}
	another, _ := keeps(c, freshName("another"))
	if err := b.spent(ctx, f, figurePair, countCPU, growthSteps, func() error { return repeat(ctx, another) }); err != nil {
		return err
	}
	eyes, err := inspect.New(c.Driver(), inspect.Config{Rate: 1_000_000})
	if err != nil {
		return err
	}
	return b.spent(ctx, f, figureLook, countCPU, 1, func() error {
		seen := 0
		for _, err := range eyes.Locks(ctx, own+"*") {
			if err != nil {
				return err
			}
			seen++
		}
		if seen != n {
			return fmt.Errorf("%d of %d locks are listed", seen, n)
		}
		return nil
	})
}

// growClients measures the looks of a watchdog at so many protected clients, first while they run, and then
// while each of them is paused and holds a lock.
func (b *bench) growClients(ctx context.Context, c *redlatch.Client, n int, f figures) error {
	const pulse = "pulse"
	runner := script.NewRunner(c.Driver(), scaleTimeout)
	pulses, err := c.Driver().Listen(ctx, driver.Events{})
	if err != nil {
		return err
	}
	defer pulses.Close()
	id := func(i int) string { return fmt.Sprint("client-", i) }
	looks := func(figure string, calls func(i int) []script.Call) error {
		if err := inParallel(n, func(i int) error { _, err := runner.RunAll(ctx, calls(i)...); return err }); err != nil {
			return err
		}
		return b.looks(ctx, c.Driver(), f, figure)
	}
	err = looks(figureRun, func(i int) []script.Call { return []script.Call{script.SessionHeartbeat(id(i), time.Hour)} })
	if err != nil {
		return err
	}
	channels := make([]string, n)
	for i := range channels {
		channels[i] = protocol.PulseChannel(id(i), pulse)
	}
	if err := pulses.Subscribe(ctx, channels...); err != nil {
		return err
	}
	return looks(figurePaused, func(i int) []script.Call {
		e := script.SessionEntry{Field: id(i) + ":1", Lock: "lock-" + id(i), Count: 1, Lease: 3 * renewed}
		return []script.Call{
			script.Mutex{Lock: e.Lock}.Acquire(e.Field, script.Counts{Writes: 1}, e.Lease, false), script.SessionTouch(id(i), time.Minute, pulse),
			script.SessionNote(id(i), time.Minute, e), script.SessionHeartbeat(id(i), time.Millisecond),
		}
	})
}

// looks measures the looks of a watchdog, with the visits that follow from them.
func (b *bench) looks(ctx context.Context, d driver.Driver, f figures, figure string) error {
	length := b.plan.time(3 * renewed / 4) // a paused client is visited each quarter of its lease
	w, err := watchdog.New(d, watchdog.Config{CommandTimeout: scaleTimeout, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, length)
	defer end()
	err = b.spent(context.WithoutCancel(ctx), f, figure, countTime, 1, func() error { return w.Run(ctx) })
	f[figure] /= float64(w.Stats().Looks)
	return err
}

// spent notes what the server spends on each of so many operations.
func (b *bench) spent(ctx context.Context, f figures, figure, count string, n int, do func() error) error {
	before, err := b.server.meter.work(ctx)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := b.server.meter.work(ctx)
	f[figure] = after.minus(before)[count] / float64(n)
	return err
}
