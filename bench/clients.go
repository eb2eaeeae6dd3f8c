package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// What one client costs if there are many in one process.

// clientPhases are what each client does when it is measured.
var clientPhases = []string{"with a hold", "with a hold and a waiter"}

// clients opens clients, each of which holds a lock, and then waits for one that the first one holds.
func (o order) clients(ctx context.Context, ready ready) (figures, error) {
	if _, err := ready(); err != nil {
		return nil, err
	}
	server, err := newMeter(o.Address)
	if err != nil {
		return nil, err
	}
	defer server.close()
	f, clients := figures{}, make([]client, o.Workers)
	measure, err := o.perClient(ctx, server, f)
	if err != nil {
		return nil, err
	}
	err = inParallel(o.Workers, func(i int) (err error) {
		if clients[i], err = openByName(ctx, o.Contestant, o.Address, new(wire)); err != nil {
			return err
		}
		w, err := clients[i].worker(fmt.Sprintf("%s:%d", o.Name, i))
		if err != nil {
			return err
		}
		return w.lock(ctx)
	})
	if err == nil {
		err = measure(clientPhases[0])
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait() // the process ends, and with it the clients
	defer cancel()
	for _, c := range clients {
		w, err := c.worker(o.Name + ":0")
		if err != nil {
			return nil, err
		}
		waiting.Go(func() { _ = w.lock(ctx) })
	}
	if err := until(ctx, time.Now().Add(o.WarmUp)); err != nil {
		return nil, err
	}
	return f, measure(clientPhases[1])
}

const (
	figureConnections = "connections"
	figureGoroutines  = "goroutines"
	figureHeap        = "heap, kB"
	figureStacks      = "stacks, kB"
)

// perClient returns what notes the costs of a client from now on.
func (o order) perClient(ctx context.Context, server meter, f figures) (note func(phase string) error, err error) {
	connected, err := server.work(ctx)
	before := used()
	return func(phase string) error {
		now := used()
		work, err := server.work(ctx)
		heap, stack := now.each(before, o.Workers)
		f[figureConnections+" "+phase] = work.minus(connected)[countConnections] / float64(o.Workers)
		f[figureGoroutines+" "+phase] = (now.goroutines - before.goroutines) / float64(o.Workers)
		f[figureHeap+" "+phase], f[figureStacks+" "+phase] = heap/1000, stack/1000
		return err
	}, err
}
