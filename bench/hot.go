package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// The second table: one lock, many goroutines of one process.

const hotWorkers = 16

// hotRun is one contestant's slice of one round.
type hotRun struct {
	ledger
	begin, end totals
}

// perCycle is how much was counted for each grant.
func (r hotRun) perCycle(count func(totals) int64) float64 {
	cycles := len(r.grantedIn(window{r.begin.moment, r.end.moment}))
	return float64(count(r.end)-count(r.begin)) / float64(max(cycles, 1))
}

func (r hotRun) writesPerCycle() float64 {
	return r.perCycle(func(t totals) int64 { return t.writes })
}

func (r hotRun) scriptsPerCycle() float64 {
	return r.perCycle(func(t totals) int64 { return t.request.scripts })
}

// measureHot lets the libraries take turns.
func measureHot(ctx context.Context, b *bench) (map[string][]hotRun, error) {
	runs := map[string][]hotRun{}
	for round := range b.plan.hotRounds {
		for _, e := range b.present(racers()) {
			run, err := hotSlice(ctx, b, e, fmt.Sprintf("hot:%s:%d", e.name, round))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			runs[e.name] = append(runs[e.name], run)
		}
	}
	return runs, nil
}

func hotSlice(ctx context.Context, b *bench, e entrant, name string) (run hotRun, err error) {
	o := order{
		Task: taskContend, Address: b.serverOf(e).address, Entrant: e.name, Name: name,
		Workers: hotWorkers, For: b.plan.warmUp + b.plan.hotSlice,
	}
	wire := new(wire)
	begin := b.here
	if e.foreign {
		begin = b.elsewhere
	}
	began, finish, err := begin(ctx, e, o, wire)
	if err != nil {
		return run, err
	}
	slice := after(began, b.plan.warmUp, b.plan.hotSlice)
	var unmeasured error
	var measuring sync.WaitGroup
	measuring.Go(func() { run.begin, run.end, unmeasured = b.meter.during(ctx, slice, wire) })
	holds, err := finish()
	measuring.Wait()
	if err = cmp.Or(err, unmeasured); err != nil {
		return run, err
	}
	run.ledger = newLedger(holds, slice)
	return run, run.exclusive(0)
}

// here lets a library contend in this process. It returns when that began, and what waits for the end.
func (b *bench) here(ctx context.Context, e entrant, o order, wire *wire) (began time.Time, finish func() ([]hold, error), err error) {
	c, err := e.open(ctx, o.Address, wire)
	if err != nil {
		return began, nil, err
	}
	runtime.GC() // nobody pays for somebody else's garbage
	began = time.Now()
	return began, func() ([]hold, error) {
		defer c.Close()
		return contend(ctx, c, o, began.Add(o.For))
	}, nil
}

// elsewhere lets a library contend in a process of another language.
func (b *bench) elsewhere(ctx context.Context, e entrant, o order, _ *wire) (began time.Time, finish func() ([]hold, error), err error) {
	c, err := b.residents(ctx, e.name, 1)
	if err != nil {
		return began, nil, err
	}
	release := c.limit(ctx, []order{o})
	if err = c.prepare([]order{o}); err == nil {
		began, err = c.start()
	}
	if err != nil {
		release()
		return began, nil, err
	}
	return began, func() ([]hold, error) {
		defer release()
		reports, err := c.reports()
		if err != nil {
			return nil, err
		}
		return reports[0].Holds, nil
	}, nil
}

// totals is what was written and carried out until a moment.
type totals struct {
	moment  int64
	writes  int64
	request work
}

// during returns the totals at both ends of a window.
func (m *meter) during(ctx context.Context, w window, wire *wire) (begin, end totals, err error) {
	if begin, err = m.at(ctx, w.from, wire); err == nil {
		end, err = m.at(ctx, w.to, wire)
	}
	return begin, end, err
}

// at waits for a moment and returns the totals at that time.
func (m *meter) at(ctx context.Context, moment int64, wire *wire) (t totals, err error) {
	if err = until(ctx, time.Unix(0, moment)); err != nil {
		return t, err
	}
	t.moment, t.writes = time.Now().UnixNano(), wire.writes.Load()
	t.request, err = m.work(ctx)
	return t, err
}

// until waits for a moment.
func until(ctx context.Context, moment time.Time) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
