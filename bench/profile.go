package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

// profiling is what to profile: the redlatch row of the first table, and nothing
// beside it.
type profiling struct {
	cpu, allocs string // files; empty for none
	entrant     string
	goroutines  int
}

func (p profiling) wanted() bool { return p.cpu != "" || p.allocs != "" }

// profileFor is how long the profiled slice lasts.
const profileFor = 10 * time.Second

// run profiles one entrant and says how fast it was meanwhile.
func (p profiling) run(ctx context.Context, b *bench, out io.Writer) error {
	e, err := findEntrant(p.entrant)
	if err != nil {
		return err
	}
	if p.allocs != "" {
		runtime.MemProfileRate = 512 // exact enough for counts, cheap enough to run with
	}
	t := b.subject(e, p.goroutines)
	defer t.close()
	table := pairTable{goroutines: p.goroutines, stuck: map[string]int{}}
	if _, err := table.run(ctx, b, t, profileFor/10); err != nil {
		return err
	}
	run, err := p.recorded(func() (pairRun, error) { return table.run(ctx, b, t, profileFor) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %d goroutines, profiled: %.1f µs a pair, %.1f µs of own CPU, %s allocations\n",
		e.name, p.goroutines, run.micros(), run.cpuMicros(), figure("%.1f", run.per(run.allocs)))
	return nil
}

// recorded runs f under the CPU profiler and writes the profiles.
func (p profiling) recorded(f func() (pairRun, error)) (run pairRun, err error) {
	if p.cpu != "" {
		file, err := os.Create(p.cpu)
		if err != nil {
			return run, err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return run, err
		}
	}
	run, err = f()
	pprof.StopCPUProfile()
	if err != nil || p.allocs == "" {
		return run, err
	}
	file, err := os.Create(p.allocs)
	if err != nil {
		return run, err
	}
	defer file.Close()
	return run, pprof.Lookup("allocs").WriteTo(file, 0)
}
