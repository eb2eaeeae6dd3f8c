// Command workers shows a pool: a hundred workers with four clients share a few permits, so only a few of
// them work at a time. One client loses its connection, and its permits come back. The pool is made larger,
// and then smaller than what is in use. Each client has a connection of its own, as a process has. It needs
// no server:
//
//	go run ./examples/workers
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "workers:", err)
		os.Exit(1)
	}
}

const (
	processes = 4
	workers   = 25          // of each process
	permits   = 5           // at first
	lease     = time.Second // short, so that there is something to see
)

// run shows a pool.
func run(ctx context.Context, out io.Writer) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	p := &pool{out: out, began: time.Now()}
	var connections []*memory.Driver
	for range processes + 1 {
		connection, err := memory.Open(ctx, memory.Options{Name: "pool"})
		if err != nil {
			return err
		}
		connections = append(connections, connection)
		client, err := redlatch.New(connection, redlatch.Config{LeaseTime: lease, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		if p.desks = client.PermitSemaphore("desks"); len(connections) <= processes {
			all.Go(func() { p.process(ctx, client.PermitSemaphore("desks")) })
		}
		defer connection.Close()
		defer client.Close(context.WithoutCancel(ctx))
		defer all.Wait()
		defer stop()
	}
	if _, err := p.desks.TrySetPermits(ctx, permits); err != nil {
		return err
	}
	p.say("%d workers in %d processes share %d permits", processes*workers, processes, permits)
	p.show()
	connections[0].Close()
	p.say("a process is cut off; its permits come back within %v", lease)
	p.show()
	for _, n := range []int{3, -6} {
		if err := p.desks.AddPermits(ctx, n); err != nil {
			return err
		}
		p.say("%+d permits", n)
		p.show()
	}
	return nil
}

// pool counts who works.
type pool struct {
	mu            sync.Mutex
	out           io.Writer
	began         time.Time
	desks         *redlatch.PermitSemaphore
	working, jobs atomic.Int64
}

func (p *pool) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%6.2fs  %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// show waits until permits that are lost or taken away are gone, and says how many work.
func (p *pool) show() {
	time.Sleep(3 * lease / 2)
	before, most := p.jobs.Load(), int64(0)
	for range 100 {
		time.Sleep(lease / 100)
		most = max(most, p.working.Load())
	}
	p.say("%d work at a time, and do %d jobs in %v", most, p.jobs.Load()-before, lease)
}

// process is what would be one process: its workers.
func (p *pool) process(ctx context.Context, desks *redlatch.PermitSemaphore) {
	var all sync.WaitGroup
	defer all.Wait()
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := redlatch.Do(ctx, desks.Locker(), p.work); err != nil {
					pause(ctx, lease/10) // and try again
				}
			}
		})
	}
}

// work does one job under a permit.
func (p *pool) work(ctx context.Context, _ *redlatch.Hold) error {
	p.working.Add(1)
	defer p.working.Add(-1)
	// A real worker works here. It ends early if the permit is lost, or the process is to end.
	pause(ctx, time.Duration(50+rand.IntN(100))*time.Millisecond)
	if ctx.Err() == nil {
		p.jobs.Add(1)
	}
	return context.Cause(ctx)
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
