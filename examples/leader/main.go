// Command leader shows an election: three candidates stand for it, the leader loses its connection twice,
// and another one takes over each time. At the end the last leader resigns. Each candidate has a client and
// a connection of its own, as a process has. It needs no server:
//
//	go run ./examples/leader
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/leader"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "leader:", err)
		os.Exit(1)
	}
}

// lease is short, so that there is something to see.
const lease = time.Second

// run shows three elections.
func run(ctx context.Context, out io.Writer) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	e := &election{out: out, began: time.Now(), elected: make(chan *candidate, 3)}
	for _, name := range []string{"ada", "bob", "cleo"} {
		c, err := e.stand(ctx, name)
		if err != nil {
			return err
		}
		defer c.end()
	}
	for term := 1; ; term++ {
		select {
		case c := <-e.elected:
			if time.Sleep(lease); term == 3 { // long enough to see it
				e.say("%s is asked to end", c.name)
				c.end()
				return nil
			}
			e.say("%s is cut off; its lease ends within %v", c.name, lease)
			c.connection.Close()
		case <-ctx.Done():
			return fmt.Errorf("nobody leads: %w", ctx.Err())
		}
	}
}

// election prints lines with the time since the beginning.
type election struct {
	mu      sync.Mutex
	out     io.Writer
	began   time.Time
	elected chan *candidate
}

func (e *election) say(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintf(e.out, "%6.2fs  %s\n", time.Since(e.began).Seconds(), fmt.Sprintf(format, args...))
}

// candidate is what would be a process.
type candidate struct {
	name       string
	connection *memory.Driver
	end        func()
}

// stand has a candidate stand until its end.
func (e *election) stand(ctx context.Context, name string) (*candidate, error) {
	connection, err := memory.Open(ctx, memory.Options{Name: "election"})
	if err != nil {
		return nil, err
	}
	client, err := redlatch.New(connection, redlatch.Config{Name: name, LeaseTime: lease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	c := &candidate{name: name, connection: connection}
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		_ = leader.Run(ctx, client.Mutex("example"), leader.Callbacks{
			Started: func(ctx context.Context, h *redlatch.Hold) {
				e.say("%s leads in term %d", name, h.Token())
				e.elected <- c
				<-ctx.Done() // a real leader works until then
				e.say("%s leads no more", name)
			},
			Failed: func(error) {}, // a candidate that is cut off goes on trying
		})
	})
	c.end = sync.OnceFunc(func() {
		stop()
		work.Wait()
		_ = client.Close(context.WithoutCancel(ctx))
		connection.Close()
	})
	return c, nil
}
