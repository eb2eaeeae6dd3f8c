package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

// Many holds, many waiters and many clients: what one of them costs.

// manyPlan is how many there are.
type manyPlan struct {
	holds, waiters, locks, clients int
	watch                          time.Duration // for how long their commands are counted
}

var longMany = manyPlan{holds: 100_000, waiters: 100_000, locks: 1000, clients: 1000, watch: 30 * time.Second}

// settling is the time for the first renewals and subscriptions, which do not count.
const settling = 5 * time.Second

// measureMany measures on one server, and on a cluster of three.
func measureMany(ctx context.Context, b *bench, p manyPlan, out io.Writer) error {
	software, err := b.meter.software(ctx)
	if err != nil {
		return err
	}
	paper := page{out}
	paper.line("%s, %s, %d cores. Load average before the run: %s.\n", software, runtime.Version(), runtime.NumCPU(), loadAverage())
	group, err := startCluster(ctx)
	if err != nil {
		return err
	}
	defer group.stop()
	single := deployment{url: "redis://" + b.server.address, meters: []*meter{b.meter}}
	if err := p.report(ctx, paper, "One server", single); err != nil {
		return fmt.Errorf("one server: %w", err)
	}
	if err := p.report(ctx, paper, "A Cluster of three", group.deployment); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	row, err := p.crowd(ctx, single)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	paper.line("### %d clients of one server, in one process\n", p.clients)
	paper.table([]string{"each client", "connections", "goroutines", "heap, kB", "stacks, kB"}, row)
	return nil
}

// deployment is where the locks are.
type deployment struct {
	url    string
	meters []*meter // of each server
}

// commands is what all servers have carried out since they were started.
func (d deployment) commands(ctx context.Context) (sum float64, err error) {
	for _, m := range d.meters {
		w, err := m.work(ctx)
		if err != nil {
			return 0, err
		}
		sum += float64(w.scripts + w.others)
	}
	return sum, nil
}

// during counts what the servers carry out in a while.
func (d deployment) during(ctx context.Context, watch time.Duration) (float64, error) {
	before, err := d.commands(ctx)
	if err != nil {
		return 0, err
	}
	if err := until(ctx, time.Now().Add(watch)); err != nil {
		return 0, err
	}
	after, err := d.commands(ctx)
	return after - before, err
}

// usage is what a process has in use.
type usage struct {
	heap, stacks float64 // bytes
	goroutines   int
}

func used() usage {
	for range 3 { // a collection halves a stack at the most
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return usage{float64(stats.HeapAlloc), float64(stats.StackInuse), runtime.NumGoroutine()}
}

// each is a part of the difference to an earlier usage.
func (u usage) each(before usage, n int) (heap, stack float64) {
	return (u.heap - before.heap) / float64(n), (u.stacks - before.stacks) / float64(n)
}

func (p manyPlan) report(ctx context.Context, paper page, title string, d deployment) error {
	client, err := redlatch.Open(ctx, d.url, redlatch.Config{})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())
	paper.line("### %s\n", title)
	holds, err := p.manyHolds(ctx, d, client)
	if err != nil {
		return err
	}
	waiters, err := p.manyWaiters(ctx, d, client)
	if err != nil {
		return err
	}
	paper.table([]string{"", "heap, bytes", "stack, bytes", fmt.Sprintf("commands in %v", p.watch), "losses", "all done after, s"}, [][]string{holds, waiters})
	return nil
}

// manyHolds takes locks of their own names, keeps them and releases them.
func (p manyPlan) manyHolds(ctx context.Context, d deployment, client *redlatch.Client) ([]string, error) {
	mutexes := make([]*redlatch.Mutex, p.holds)
	for i := range mutexes {
		mutexes[i] = client.Mutex(fmt.Sprintf("many:own:%d", i))
	}
	holds := make([]*redlatch.Hold, p.holds)
	before := used()
	err := inParallel(p.holds, func(i int) (err error) {
		holds[i], err = mutexes[i].Lock(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := until(ctx, time.Now().Add(settling)); err != nil {
		return nil, err
	}
	heap, stack := used().each(before, p.holds)
	commands, err := d.during(ctx, p.watch)
	if err != nil {
		return nil, err
	}
	losses, began := client.Stats().Losses, time.Now()
	err = inParallel(p.holds, func(i int) error { return holds[i].Unlock(ctx) })
	return []string{
		fmt.Sprintf("each of %d holds", p.holds), fmt.Sprintf("%.0f", heap), fmt.Sprintf("%.0f", stack),
		fmt.Sprintf("%.2f", commands/float64(p.holds)), fmt.Sprint(losses), fmt.Sprintf("%.1f", time.Since(began).Seconds()),
	}, err
}

// manyWaiters waits for locks that another client has, until that releases them.
func (p manyPlan) manyWaiters(ctx context.Context, d deployment, client *redlatch.Client) ([]string, error) {
	other, err := redlatch.Open(ctx, d.url, redlatch.Config{})
	if err != nil {
		return nil, err
	}
	defer other.Close(context.Background())
	mutexes, holds := make([]*redlatch.Mutex, p.locks), make([]*redlatch.Hold, p.locks)
	err = inParallel(p.locks, func(i int) (err error) {
		name := fmt.Sprintf("many:shared:%d", i)
		mutexes[i] = client.Mutex(name)
		holds[i], err = other.Mutex(name).Lock(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := used()
	var waiting sync.WaitGroup
	failures := make(chan error, p.waiters)
	if err := p.wait(ctx, client, mutexes, &waiting, failures); err != nil {
		return nil, err
	}
	if err := until(ctx, time.Now().Add(settling)); err != nil {
		return nil, err
	}
	heap, stack := used().each(before, p.waiters)
	commands, err := d.during(ctx, p.watch)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := inParallel(p.locks, func(i int) error { return holds[i].Unlock(ctx) }); err != nil {
		return nil, err
	}
	waiting.Wait()
	if n := len(failures); n > 0 {
		err = fmt.Errorf("%d waiters failed: %w", n, <-failures)
	}
	return []string{
		fmt.Sprintf("each of %d waiters for %d locks", p.waiters, p.locks), fmt.Sprintf("%.0f", heap), fmt.Sprintf("%.0f", stack),
		fmt.Sprintf("%.3f", commands/float64(p.waiters)), fmt.Sprint(client.Stats().Losses), fmt.Sprintf("%.1f", time.Since(began).Seconds()),
	}, err
}

// wait has goroutines wait for the mutexes, and unlock them at once when they get them. The first
// waiter of each mutex asks the server. Those behind it do not.
func (p manyPlan) wait(ctx context.Context, client *redlatch.Client, mutexes []*redlatch.Mutex, waiting *sync.WaitGroup, failures chan<- error) error {
	for i := range p.waiters {
		if i == len(mutexes) {
			if err := awaitWaiters(ctx, client, i); err != nil {
				return err
			}
		}
		m := mutexes[i%len(mutexes)]
		waiting.Go(func() {
			hold, err := m.Lock(ctx)
			if err == nil {
				err = hold.Unlock(ctx)
			}
			if err != nil {
				failures <- err
			}
		})
	}
	return awaitWaiters(ctx, client, p.waiters)
}

// awaitWaiters waits until so many goroutines wait.
func awaitWaiters(ctx context.Context, client *redlatch.Client, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for client.Stats().Waiters < n {
		if err := until(ctx, time.Now().Add(10*time.Millisecond)); err != nil {
			return fmt.Errorf("%d of %d wait: %w", client.Stats().Waiters, n, err)
		}
	}
	return nil
}

// crowd opens clients, each of which holds a lock, and then waits for one that the first one holds.
func (p manyPlan) crowd(ctx context.Context, d deployment) (rows [][]string, err error) {
	connected, err := d.meters[0].connections(ctx)
	if err != nil {
		return nil, err
	}
	clients := make([]*redlatch.Client, p.clients)
	defer func() {
		_ = inParallel(p.clients, func(i int) error {
			if clients[i] != nil {
				return clients[i].Close(context.Background())
			}
			return nil
		})
	}()
	row := func(what string, before usage) error {
		now := used()
		heap, stack := now.each(before, p.clients)
		open, err := d.meters[0].connections(ctx)
		rows = append(rows, []string{
			what, fmt.Sprintf("%.2f", (open-connected)/float64(p.clients)),
			fmt.Sprintf("%.2f", float64(now.goroutines-before.goroutines)/float64(p.clients)),
			fmt.Sprintf("%.0f", heap/1000), fmt.Sprintf("%.0f", stack/1000),
		})
		return err
	}
	before := used()
	err = inParallel(p.clients, func(i int) (err error) {
		if clients[i], err = redlatch.Open(ctx, d.url, redlatch.Config{}); err == nil {
			_, err = clients[i].Mutex(fmt.Sprintf("crowd:own:%d", i)).Lock(ctx)
		}
		return err
	})
	if err == nil {
		err = row("with a hold", before)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	for _, c := range clients {
		waiting.Go(func() { _, _ = c.Mutex("crowd:own:0").Lock(ctx) })
	}
	if err := until(ctx, time.Now().Add(settling)); err != nil {
		return nil, err
	}
	return rows, row("with a hold and a waiter", before)
}

// inParallel calls a function for each number, 64 at a time.
func inParallel(n int, work func(i int) error) error {
	const atATime = 64
	errs := make([]error, atATime)
	var working sync.WaitGroup
	for first := range min(n, atATime) {
		working.Go(func() {
			for i := first; i < n && errs[first] == nil; i += atATime {
				errs[first] = work(i)
			}
		})
	}
	working.Wait()
	return errors.Join(errs...)
}
