// The bench program measures redlatch beside its rivals and beside what the server
// and the connection cost without a lock library. It starts its own redis-server,
// and prints Markdown:
//
//	go run .                        everything, in about two minutes
//	go run . -short                 the same in 20 seconds, with more noise
//	go run . -profile cpu.out       a CPU profile of redlatch alone
//
// Whoever is compared takes turns in short slices, and ratios are taken slice by
// slice before their median is: what else the machine does hits all alike.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// plan is how often and for how long each part runs.
type plan struct {
	pairRounds, hotRounds, crossRounds          int
	pairSlice, hotSlice, crossSlice, floorSlice time.Duration
	// warmUp comes before each slice on one lock and is not counted: connections
	// and subscriptions are made in it.
	warmUp time.Duration
}

var (
	longPlan = plan{
		pairRounds: 21, pairSlice: 50 * time.Millisecond,
		hotRounds: 7, hotSlice: 500 * time.Millisecond,
		crossRounds: 5, crossSlice: time.Second, floorSlice: 300 * time.Millisecond,
		warmUp: 200 * time.Millisecond,
	}
	shortPlan = plan{
		pairRounds: 4, pairSlice: 25 * time.Millisecond,
		hotRounds: 2, hotSlice: 200 * time.Millisecond,
		crossRounds: 2, crossSlice: 400 * time.Millisecond, floorSlice: 100 * time.Millisecond,
		warmUp: 200 * time.Millisecond,
	}
)

// mostGoroutines is the highest level of the first table.
const mostGoroutines = 512

var levels = []int{1, 64, mostGoroutines}

// bench is one run of the program.
type bench struct {
	plan   plan
	server *server
	meter  *meter
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := mainErr(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func mainErr(ctx context.Context) error {
	if len(os.Args) == 2 && os.Args[1] == helperWord {
		return help(ctx, os.Stdin, os.Stdout)
	}
	short := flag.Bool("short", false, "finish within 20 seconds")
	var p profiling
	flag.StringVar(&p.cpu, "profile", "", "write a CPU profile of the first table's redlatch row to this `file`, and measure nothing else")
	flag.StringVar(&p.allocs, "allocs", "", "write a profile of its allocations to this `file`")
	flag.StringVar(&p.entrant, "entrant", nameRedlatch, "the `row` to profile")
	flag.IntVar(&p.goroutines, "goroutines", mostGoroutines, "how `many` to profile it with")
	flag.Parse()

	b := &bench{plan: longPlan}
	if *short {
		b.plan = shortPlan
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	defer b.close()
	if p.wanted() {
		return p.run(ctx, b, os.Stdout)
	}
	return b.run(ctx, os.Stdout)
}

func (b *bench) open(ctx context.Context) (err error) {
	if b.server, err = startServer(ctx); err != nil {
		return err
	}
	if b.meter, err = newMeter(b.server.address); err != nil {
		b.server.stop()
		return err
	}
	// The server knows the scripts before anybody is measured.
	if _, err = record(ctx, b.server.address); err != nil {
		b.close()
	}
	return err
}

func (b *bench) close() {
	b.meter.close()
	b.server.stop()
}

// run measures everything and writes each table when it is known.
func (b *bench) run(ctx context.Context, out io.Writer) error {
	p := page{out}
	software, err := b.meter.software(ctx)
	if err != nil {
		return err
	}
	p.head(software)
	var goals []goal
	for _, n := range levels {
		table, err := measurePairs(ctx, b, n)
		if err != nil {
			return err
		}
		p.pairs(table)
		goals = append(goals, pairGoals(table)...)
	}
	hot, err := measureHot(ctx, b)
	if err != nil {
		return err
	}
	p.hot(hot)
	crossing, floors, err := measureCrossing(ctx, b)
	if err != nil {
		return err
	}
	p.crossing(crossing, floors)
	goals = append(goals, hotGoals(hot)...)
	goals = append(goals, crossGoals(crossing, floors)...)
	p.goals(goals)
	return nil
}
