package main

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Lock and unlock, as often as possible, without anybody to wait for.

// slice is what a slice of pairs came to in a helper.
type slice struct {
	// The rate counts what was finished while everybody was busy. At the beginning everybody begins
	// at once, and at the end those who are late have the server for themselves.
	Inside int64
	Window time.Duration

	// The costs are those of the whole run, so that no pair is counted in part.
	Pairs                 int64
	CPU                   time.Duration
	Allocs, Bytes, Writes float64

	Stuck int // acquisitions that did not return
}

const (
	figureTime        = "µs/pair" // between two finished pairs, whoever made them
	figureRate        = "pairs/s"
	figureCPU         = "own CPU, µs"
	figureServerCPU   = "server CPU, µs"
	figureMainCPU     = "main thread, µs"
	figureAllocations = "allocations"
	figureBytes       = "bytes"
	figureWrites      = "writes"
	figureScripts     = "scripts"
	figureOthers      = "other commands"
	figureStuck       = "stuck"
)

// figures are those of a slice, during which the server has done some work.
func (s slice) figures(work figures, c contestant) figures {
	rate, each := float64(s.Inside)/s.Window.Seconds(), func(n float64) float64 { return n / float64(s.Pairs) }
	f := figures{
		figureRate: rate, figureTime: 1e6 / rate,
		figureCPU: each(s.CPU.Seconds() * 1e6), figureServerCPU: each(work[countCPU]), figureMainCPU: each(work[countMainCPU]),
		figureScripts: each(work[countScripts]), figureOthers: each(work[countOthers]),
	}
	if !c.foreign {
		f[figureAllocations], f[figureBytes], f[figureWrites] = each(s.Allocs), each(s.Bytes), each(s.Writes)
	}
	return f
}

// pairRow is a contestant with a number of goroutines, each with a name of its own or all with one.
// A lone goroutine gets a new connection for each slice: rueidis serves it faster until it has seen
// two callers at once, of which one may be its own timer, and not after.
func (b *bench) pairRow(c contestant, goroutines, locks int, length time.Duration) row {
	length = b.plan.time(length)
	o := order{Task: taskPairs, Contestant: c.name, Workers: goroutines, Locks: locks, Clients: c.clients}
	return row{c.name, cmp.Or(c.base, nameRaw), func(ctx context.Context, round int) (figures, error) {
		o.Address = b.server.address
		if o.Name == "" || !c.foreign && goroutines == 1 {
			o.Name = freshName("own")
		}
		perform := func(o order) (slice, figures, error) { return b.pairSlice(ctx, c, o) }
		if round == 0 { // loads scripts, fills pools
			if _, err := c.pairs(&o, length/4, perform); err != nil {
				return nil, err
			}
		}
		return c.pairs(&o, length, perform)
	}}
}

var usedNames atomic.Int64

// freshName is one that was not used before: such a lock might be stuck.
func freshName(what string) string { return fmt.Sprintf("%s:%d", what, usedNames.Add(1)) }

// pairs is one slice. A contestant that gets stuck begins again with other names, so that a rival's
// fault neither hangs the benchmark nor slows the rival. A slice that is too short for a single pair
// is repeated for longer.
func (c contestant) pairs(o *order, length time.Duration, perform func(order) (slice, figures, error)) (figures, error) {
	const attempts = 10
	stuck := 0
	var why error
	for range attempts {
		o.WarmUp, o.For = length/4, length
		s, work, err := perform(*o)
		switch {
		case err != nil:
			return nil, err
		case s.Stuck > 0:
			why = fmt.Errorf("%d of %d acquisitions of free locks did not return", s.Stuck, o.Workers)
			stuck += s.Stuck
			o.Name = freshName("own")
		case s.Inside == 0:
			why = fmt.Errorf("not one pair within %v", length)
			length *= 2
		default:
			f := s.figures(work, c)
			f[figureStuck] = float64(stuck)
			return f, nil
		}
	}
	return nil, why
}

// pairSlice also returns what the server did meanwhile.
func (b *bench) pairSlice(ctx context.Context, c contestant, o order) (s slice, work figures, err error) {
	helpers, err := b.residents(ctx, c)
	if err != nil {
		return s, nil, err
	}
	var before figures
	reports, err := helpers.perform(ctx, []order{o}, func() (err error) {
		before, err = b.server.work(ctx)
		return err
	}, nil)
	if err != nil {
		return s, nil, err
	}
	after, err := b.server.work(ctx)
	return *reports[0].Slice, after.minus(before), err
}
