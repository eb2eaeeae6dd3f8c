package main

import (
	"context"
	"fmt"
	"io"
)

// part is one part of the measurements, in a table or more of its own.
type part struct {
	name    string
	measure func(ctx context.Context, p page, r *results) error
}

func (b *bench) parts() []part {
	return []part{
		{"pairs", b.runPairs}, {"hot", b.runHot}, {"crossing", b.runCrossing},
		{"readers", b.runReaders}, {"permits", b.runPermits}, {"shares", b.runShares},
		{"idle", b.runIdle}, {"memory", b.runMemory},
	}
}

// run measures everything, or one part, and writes each table when it is known.
func (b *bench) run(ctx context.Context, only string, out io.Writer) (r results, err error) {
	p := page{out}
	software, err := b.meter.software(ctx)
	if err != nil {
		return r, err
	}
	p.head(software, b.versions())
	p.absent(b.absent)
	for _, part := range b.parts() {
		if only != "" && only != part.name {
			continue
		}
		if err := part.measure(ctx, p, &r); err != nil {
			return r, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if only == "" {
		p.summary(r)
		p.goals(r.goals())
	}
	return r, nil
}

func (b *bench) runPairs(ctx context.Context, p page, r *results) error {
	for _, n := range b.plan.levels {
		table, err := measurePairs(ctx, b, n)
		if err != nil {
			return err
		}
		p.pairs(table)
		r.pairs = append(r.pairs, table)
	}
	return nil
}

func (b *bench) runHot(ctx context.Context, p page, r *results) (err error) {
	if r.hot, err = measureHot(ctx, b); err == nil {
		p.hot(*r)
	}
	return err
}

func (b *bench) runCrossing(ctx context.Context, p page, r *results) (err error) {
	if r.crossing, r.pingPongs, err = measureCrossing(ctx, b); err == nil {
		p.crossing(r.crossing, r.pingPongs)
	}
	return err
}

func (b *bench) runReaders(ctx context.Context, p page, r *results) (err error) {
	if r.readers, err = measureReaders(ctx, b); err == nil {
		p.readers(r.readers)
	}
	return err
}

func (b *bench) runPermits(ctx context.Context, p page, r *results) error {
	tables, err := measurePermits(ctx, b)
	if err != nil {
		return err
	}
	for _, table := range tables {
		p.permits(table)
	}
	r.permits = tables
	queue, err := measurePermitQueue(ctx, b)
	if err == nil {
		p.permitQueue(queue)
	}
	return err
}

func (b *bench) runShares(ctx context.Context, p page, r *results) (err error) {
	if r.shares, err = measureShares(ctx, b); err == nil {
		p.shares(r.shares)
	}
	return err
}

func (b *bench) runIdle(ctx context.Context, p page, r *results) (err error) {
	if r.idle, err = measureIdle(ctx, b); err == nil {
		p.idle(r.idle, b.plan.idleSlice)
	}
	return err
}

func (b *bench) runMemory(ctx context.Context, p page, r *results) (err error) {
	if r.memory, err = measureMemory(ctx, b); err == nil {
		p.memory(r.memory, b.plan.memory)
	}
	return err
}
