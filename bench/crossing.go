package main

import (
	"context"
	"fmt"
)

// The third table: one lock, two processes.

const (
	crossProcesses = 2
	crossWorkers   = 8
)

// measureCrossing runs the libraries, and the least that a hand-over between
// processes can cost, in turns. The hand-overs are in nanoseconds.
func measureCrossing(ctx context.Context, b *bench) (runs map[string][]ledger, floors []float64, err error) {
	runs = map[string][]ledger{}
	for round := range b.plan.crossRounds {
		floor, err := measureFloor(ctx, b, round)
		if err != nil {
			return nil, nil, fmt.Errorf("ping-pong: %w", err)
		}
		floors = append(floors, floor)
		for _, e := range racers() {
			run, err := crossSlice(ctx, b, e, fmt.Sprintf("cross:%s:%d", e.name, round))
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", e.name, err)
			}
			runs[e.name] = append(runs[e.name], run)
		}
	}
	return runs, floors, nil
}

func crossSlice(ctx context.Context, b *bench, e entrant, name string) (ledger, error) {
	orders := make([]order, crossProcesses)
	for i := range orders {
		orders[i] = order{
			Task: taskContend, Address: b.server.address, Entrant: e.name, Name: name,
			Process: i, Workers: crossWorkers, For: b.plan.warmUp + b.plan.crossSlice,
		}
	}
	began, reports, err := command(ctx, orders)
	if err != nil {
		return nil, err
	}
	var holds []hold
	for _, r := range reports {
		holds = append(holds, r.Holds...)
	}
	all := newLedger(holds)
	if err := all.granted().exclusive(); err != nil {
		return nil, err
	}
	return all.since(began.Add(b.plan.warmUp).UnixNano()), nil
}

// measureFloor is the median time of publish, delivery and one script, between two
// processes: half of a turn of ping-pong.
func measureFloor(ctx context.Context, b *bench, round int) (float64, error) {
	ping, pong := fmt.Sprintf("ping:%d", round), fmt.Sprintf("pong:%d", round)
	_, reports, err := command(ctx, []order{
		{Task: taskPingPong, Address: b.server.address, Name: ping, Answer: pong, Serve: true, For: b.plan.floorSlice},
		{Task: taskPingPong, Address: b.server.address, Name: pong, Answer: ping, For: b.plan.floorSlice},
	})
	if err != nil {
		return 0, err
	}
	turns := reports[0].Turns
	if len(turns) == 0 {
		return 0, fmt.Errorf("the ball did not come back")
	}
	return median(turns) / 2, nil
}
