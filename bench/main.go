// The bench program measures redlatch beside its rivals and beside what the server
// and the connection cost without a lock library. It starts its own redis-server,
// and prints Markdown:
//
//	go run .                        everything, in about eight minutes
//	go run . -quick                 the same in one minute, with more noise, and in Go alone
//	go run . -quick -foreign        with Redisson and node-redisson too, in a few minutes
//	go run . -only scale            how the cost of an operation grows
//	go run . -draw                  the picture of its results
//	go run . -only servers          I/O threads, shards, and more connections
//	go run . -only many             100,000 holds, as many waiters, and 1000 clients
//
// Whoever is compared takes turns in short slices, and ratios are taken slice by
// slice before their median is: what else the machine does hits all alike.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// plan says how much of the full run is carried out. The tables say what the full run is.
type plan struct {
	levels               []int // how many goroutines, one table of pairs each
	rounds, times, sizes float64
	longest              time.Duration // nothing lasts longer
	foreign              bool          // also contestants that need more than Go
}

func (p plan) count(rounds int) int { return max(1, int(math.Round(float64(rounds)*p.rounds))) }

func (p plan) time(d time.Duration) time.Duration {
	return min(time.Duration(float64(d)*p.times), p.longest)
}

// size is a number of holds, waiters or clients.
func (p plan) size(n int) int { return max(10, int(float64(n)*p.sizes)) }

// mostGoroutines is the highest level of the first table. From manyGoroutines on rivals share writes.
const manyGoroutines, mostGoroutines = 64, 512

// renewed is how often redlatch and Redisson renew a hold. Whatever the moment at which it begins, a
// measurement of this length sees one renewal.
const renewed = 10 * time.Second

var (
	longPlan  = plan{levels: []int{1, 8, manyGoroutines, mostGoroutines}, rounds: 1, times: 1, sizes: 1, longest: time.Minute, foreign: true}
	quickPlan = plan{levels: longPlan.levels, rounds: 0.25, times: 0.6, sizes: 0.2, longest: renewed}
)

// bench is one run of the program.
type bench struct {
	plan   plan
	server *server

	only     string   // the part to measure; all but the extra ones if empty
	rows     []string // of the first table, or none for all
	foreign  map[string]foreign
	resident map[string]helpers
	absent   map[string]string // the contestants that cannot be had, and why
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
	b := &bench{plan: longPlan}
	quick := flag.Bool("quick", false, "finish within about a minute")
	flag.StringVar(&b.only, "only", "", "measure only this `part`: "+strings.Join(b.parts(), ", "))
	foreign := flag.Bool("foreign", false, "with -quick, also measure what needs more than Go")
	rows := flag.String("rows", "", "measure only these `rows` of the first table, with a semicolon between them")
	draw := flag.Bool("draw", false, "measure nothing: draw the picture of the documentation from "+growthResults)
	flag.Parse()

	if *draw {
		return paint()
	}
	if *quick {
		b.plan = quickPlan
		b.plan.foreign = *foreign
	}
	if *rows != "" {
		b.rows, b.plan.foreign = strings.Split(*rows, ";"), false
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	defer b.close()
	_, err := b.run(ctx, os.Stdout)
	return err
}

func (b *bench) open(ctx context.Context) (err error) {
	if b.server, err = startRedis(); err != nil {
		return err
	}
	if err = b.openForeign(ctx); err != nil {
		b.close()
	}
	return err
}

func (b *bench) close() {
	b.dismiss(true)
	b.server.end()
}

// chosen are the contests that this run measures.
func (b *bench) chosen() (chosen []contest) {
	for _, c := range b.contests() {
		if b.only == c.part || b.only == "" && !c.extra {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// run measures everything, or one part, and writes each table when it is known.
func (b *bench) run(ctx context.Context, out io.Writer) (results, error) {
	p, r := page{out}, results{}
	if err := p.head(ctx, b); err != nil {
		return nil, err
	}
	var goals []goal
	for _, c := range b.chosen() {
		err := c.run(ctx, r)
		b.dismiss(false)
		if err != nil {
			return nil, err
		}
		p.contest(c, r)
		goals = append(goals, c.goals...)
	}
	if b.only == "" {
		p.contest(b.summary(), r)
	}
	p.goals(goals, r)
	return r, nil
}
