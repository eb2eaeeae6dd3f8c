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

// measureCrossing runs the libraries and ping-pong in turns. The ping-pong is in nanoseconds.
func measureCrossing(ctx context.Context, b *bench) (runs map[string][]ledger, pingPongs []float64, err error) {
	runs = map[string][]ledger{}
	for round := range b.plan.crossRounds {
		pingPong, err := measurePingPong(ctx, b, round)
		if err != nil {
			return nil, nil, fmt.Errorf("ping-pong: %w", err)
		}
		pingPongs = append(pingPongs, pingPong)
		for _, e := range b.present(racers()) {
			run, err := crossSlice(ctx, b, e, fmt.Sprintf("cross:%s:%d", e.name, round))
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", e.name, err)
			}
			runs[e.name] = append(runs[e.name], run)
		}
	}
	return runs, pingPongs, nil
}

func crossSlice(ctx context.Context, b *bench, e entrant, name string) (ledger, error) {
	orders := make([]order, crossProcesses)
	for i := range orders {
		orders[i] = order{
			Task: taskContend, Address: b.serverOf(e).address, Entrant: e.name, Name: name,
			Process: i, Workers: crossWorkers, For: b.plan.warmUp + b.plan.crossSlice,
		}
	}
	perform := command
	if e.foreign {
		c, err := b.residents(ctx, e.name, crossProcesses)
		if err != nil {
			return ledger{}, err
		}
		perform = c.perform
	}
	began, reports, err := perform(ctx, orders)
	if err != nil {
		return ledger{}, err
	}
	var holds []hold
	for _, r := range reports {
		holds = append(holds, r.Holds...)
	}
	l := newLedger(holds, after(began, b.plan.warmUp, b.plan.crossSlice))
	return l, l.exclusive(0)
}

// measurePingPong is the median time of publish, delivery and one script between two processes:
// half of a turn. It compares, and limits nothing: a contender whose request is already on its way
// when the lock is released needs no message.
func measurePingPong(ctx context.Context, b *bench, round int) (float64, error) {
	ping, pong := fmt.Sprintf("ping:%d", round), fmt.Sprintf("pong:%d", round)
	_, reports, err := command(ctx, []order{
		{Task: taskPingPong, Address: b.server.address, Name: ping, Answer: pong, Serve: true, For: b.plan.pingPongSlice},
		{Task: taskPingPong, Address: b.server.address, Name: pong, Answer: ping, For: b.plan.pingPongSlice},
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
