// Command cron shows a fleet: three machines wait for the same times, and one of them runs the job each
// time. One machine dies, and the other two go on. A run that takes too long costs the next one. It
// needs no server:
//
//	go run ./examples/cron
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
	"github.com/redlatch/redlatch/schedule"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cron:", err)
		os.Exit(1)
	}
}

// period is the time between two runs. It is short, so that there is something to see.
const period = time.Second

// run shows ten times.
func run(ctx context.Context, out io.Writer) error {
	ctx, stop := context.WithTimeout(ctx, 10*period+period/2)
	defer stop()
	server, err := memory.Open(ctx, memory.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	f := &fleet{out: out}
	var machines sync.WaitGroup
	defer machines.Wait()
	for _, name := range []string{"ada", "bob", "cleo"} {
		client, err := redlatch.New(server, redlatch.Config{Name: name})
		if err != nil {
			return err
		}
		of := ctx
		if name == "ada" { // dies early
			var die context.CancelFunc
			of, die = context.WithTimeout(ctx, 4*period+period/2)
			defer die()
		}
		machines.Go(func() {
			defer client.Close(context.WithoutCancel(ctx))
			_ = schedule.Run(of, client.Mutex("report"), schedule.Every(period), f.job(name))
			f.say("%-5s ends", name)
		})
	}
	machines.Wait()
	if f.most > 1 {
		return fmt.Errorf("%d runs at a time", f.most)
	}
	f.say("%d runs, never two at a time", f.runs)
	return nil
}

// fleet counts the runs of all machines.
type fleet struct {
	mu                  sync.Mutex
	out                 io.Writer
	runs, running, most int
}

// job is the job of one machine. The seventh run takes longer than a period.
func (f *fleet) job(name string) schedule.Job {
	return schedule.Job{
		Do: func(ctx context.Context, due time.Time, h *redlatch.Hold) error {
			number := f.begin()
			defer f.end()
			takes := period / 10
			if number == 7 {
				takes = 2 * period
			}
			f.say("%-5s runs the job of %s, token %d", name, due.Format(time.TimeOnly), h.Token())
			select {
			case <-time.After(takes):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Observe: func(e schedule.Event) {
			if e.Kind == schedule.Missed {
				f.say("%-5s missed %s: %v", name, e.Due.Format(time.TimeOnly), e.Err)
			}
		},
	}
}

func (f *fleet) begin() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs++
	f.running++
	f.most = max(f.most, f.running)
	return f.runs
}

func (f *fleet) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

func (f *fleet) say(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.out, format+"\n", args...)
}
