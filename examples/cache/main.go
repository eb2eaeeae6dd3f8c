// Command cache shows a cache in Redis that many processes read, and one refreshes when it is stale.
// Readers share the lock. The refresher holds its write side, so nobody reads half of a refresh. It
// needs no server:
//
//	go run ./examples/cache
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cache:", err)
		os.Exit(1)
	}
}

const (
	processes = 8
	fresh     = time.Second            // how long a value may be used
	between   = 100 * time.Millisecond // two reads of one process
	shown     = 5*time.Second + 500*time.Millisecond
)

// run reads with eight processes for five seconds.
func run(ctx context.Context, out io.Writer) error {
	ctx, stop := context.WithTimeout(ctx, shown)
	defer stop()
	server, err := memory.Open(context.WithoutCancel(ctx), memory.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	source := &source{}
	var all sync.WaitGroup
	defer all.Wait()
	counts := make([]int, processes)
	for i := range processes {
		client, err := redlatch.New(server, redlatch.Config{Name: fmt.Sprint("reader-", i)})
		if err != nil {
			return err
		}
		c := &cache{lock: client.RWMutex("rates:lock"), redis: server, load: source.load}
		all.Go(func() {
			defer client.Close(context.WithoutCancel(ctx))
			for ctx.Err() == nil {
				if _, err := c.read(ctx); err == nil {
					counts[i]++
				} else if ctx.Err() == nil {
					fmt.Fprintln(out, "a read failed:", err)
				}
				pause(ctx, between)
			}
		})
	}
	all.Wait()
	reads := 0
	for _, n := range counts {
		reads += n
	}
	fmt.Fprintf(out, "%d reads by %d processes, %d refreshes\n", reads, processes, source.loads)
	if source.most > 1 {
		return fmt.Errorf("%d refreshes at a time", source.most)
	}
	return nil
}

// source is slow and expensive, and counts how often it is asked.
type source struct {
	mu                   sync.Mutex
	loads, loading, most int
}

func (s *source) load(ctx context.Context) (string, error) {
	s.count(1)
	defer s.count(-1)
	pause(ctx, 50*time.Millisecond)
	return "1.08", ctx.Err()
}

func (s *source) count(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads += max(change, 0)
	s.loading += change
	s.most = max(s.most, s.loading)
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
