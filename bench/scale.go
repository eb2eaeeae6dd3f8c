package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// scalePlan is how far the curves of fair and read-write locks go.
type scalePlan struct {
	waiters, readers []int
	samples          int // calls of each kind
	grants           int // that the whole library makes at each number of waiters
	crowd            int // readers that a writer waits for
}

var longScale = scalePlan{
	waiters: []int{10, 100, 1000, 5000, 10_000}, readers: []int{10, 100, 1000, 10_000, 80_000},
	samples: 100, grants: 1000, crowd: 80_000,
}

// scaleLease is longer than any part of the measurement.
const scaleLease = 10 * time.Minute

// scaled is a server with one connection to run scripts on, and what they cost it.
type scaled struct {
	scalePlan
	bench  *bench
	driver *rueidis.Driver
	runner *script.Runner
}

// measureScale writes what fair and read-write locks cost the server, by how many take part.
func measureScale(ctx context.Context, b *bench, p scalePlan, out io.Writer) error {
	d, err := rueidis.Open(ctx, rueidis.Options{Address: b.server.address, CommandTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer d.Close()
	s := &scaled{scalePlan: p, bench: b, driver: d, runner: script.NewRunner(d, time.Minute)}
	software, err := b.meter.software(ctx)
	if err != nil {
		return err
	}
	paper := page{out}
	paper.line("%s, %s, %d cores. Load average before the run: %s.\n", software, runtime.Version(), runtime.NumCPU(), loadAverage())
	for _, part := range []func(context.Context, page) error{
		s.fairScripts, s.fairLibrary, s.rwScripts, s.writerBehindReaders,
	} {
		if err := part(ctx, paper); err != nil {
			return err
		}
		if err := s.clear(ctx); err != nil {
			return err
		}
	}
	return nil
}

// clear empties the server.
func (s *scaled) clear(ctx context.Context) error {
	return s.command(ctx, "FLUSHALL")
}

// command carries out a command and ignores what it answers.
func (s *scaled) command(ctx context.Context, words ...string) error {
	return s.bench.meter.client.Do(ctx, s.bench.meter.client.B().Arbitrary(words...).Build()).Error()
}

// run carries out calls in pipelines. Each must be answered without an error.
func (s *scaled) run(ctx context.Context, calls ...script.Call) error {
	for len(calls) > 0 {
		n := min(len(calls), 1000)
		results, err := s.runner.RunAll(ctx, calls[:n]...)
		for _, r := range results {
			if err == nil {
				err = r.Reply.Err
			}
		}
		if err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// sample is the time in microseconds that the server spends in one call.
func (s *scaled) sample(ctx context.Context, call script.Call) (float64, error) {
	before, err := s.micros(ctx, "evalsha")
	if err != nil {
		return 0, err
	}
	if err := s.run(ctx, call); err != nil {
		return 0, err
	}
	after, err := s.micros(ctx, "evalsha")
	return after - before, err
}

// charge carries out a call, and adds its cost if it is to be known.
func (s *scaled) charge(ctx context.Context, cost samples, what string, call script.Call) error {
	if cost == nil {
		return s.run(ctx, call)
	}
	micros, err := s.sample(ctx, call)
	cost[what] = append(cost[what], micros)
	return err
}

// micros is the time that the server has spent in commands. The time of a script includes its
// commands.
func (s *scaled) micros(ctx context.Context, commands ...string) (total float64, err error) {
	text, err := s.bench.meter.info(ctx, "commandstats")
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		for _, command := range commands {
			var calls, usec float64
			if name == command {
				if _, err := fmt.Sscanf(rest, "%g,usec=%g,", &calls, &usec); err != nil {
					return 0, fmt.Errorf("read %q: %w", line, err)
				}
				total += usec
			}
		}
	}
	return total, err
}

// samples are the costs of calls, by what they do.
type samples map[string][]float64

// row is the medians in the order of the columns.
func (m samples) row(first string, columns []string) []string {
	row := []string{first}
	for _, column := range columns {
		row = append(row, fmt.Sprintf("%.0f", median(m[column])))
	}
	return row
}

// scaleOwner is the owner of a number. Ten clients share all owners.
func scaleOwner(n int) string {
	return protocol.Owner(fmt.Sprintf("4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f%02d", n%scaleClients), int64(n+1))
}

const scaleClients = 10
