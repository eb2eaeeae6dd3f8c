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

// profiling is what to profile: one row of the first table, in this process and nothing beside it.
type profiling struct {
	cpu, allocs string // files; empty for none
	contestant  string
	goroutines  int
}

func (p profiling) wanted() bool { return p.cpu != "" || p.allocs != "" }

// profileFor is how long the profiled slice lasts.
const profileFor = 10 * time.Second

// run profiles one contestant and says how fast it was meanwhile.
func (p profiling) run(ctx context.Context, b *bench, out io.Writer) error {
	o := order{Task: taskPairs, Contestant: p.contestant, Name: "profiled", Address: b.server.address, Workers: p.goroutines, WarmUp: profileFor / 10, For: profileFor}
	if p.allocs != "" {
		runtime.MemProfileRate = 512 // exact enough for counts, cheap enough to run with
	}
	var profiled track
	defer profiled.close()
	r, err := profiled.run(ctx, o, func() (time.Time, error) {
		if p.cpu == "" {
			return time.Now(), nil
		}
		file, err := os.Create(p.cpu)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		return time.Now(), err
	})
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	f := r.Slice.figures(figures{}, contestant{})
	fmt.Fprintf(out, "%s, %d goroutines, profiled: %.1f µs a pair, %.1f µs of own CPU, %.1f allocations\n",
		p.contestant, p.goroutines, f[figureTime], f[figureCPU], f[figureAllocations])
	if p.allocs == "" {
		return nil
	}
	file, err := os.Create(p.allocs)
	if err != nil {
		return err
	}
	defer file.Close()
	return pprof.Lookup("allocs").WriteTo(file, 0)
}
