package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
)

// listen returns the signals that reach this process from now on. Those that it was
// started to ignore, as by nohup, stay ignored, also for what it starts.
func listen() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 16)
	for _, s := range supervise.Signals {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	// A broken pipe at stderr must not hide the exit code, which is told after all else:
	// where somebody listens, the write fails instead of ending the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return signals, func() { signal.Stop(signals) }
}

// untilSignal returns a context that ends with the first signal. After stopListening the
// signals are left alone; its error says that one came.
func untilSignal(ctx context.Context, signals <-chan os.Signal) (waiting context.Context, stopListening func() error) {
	waiting, cancel := context.WithCancel(ctx)
	var caught error
	end := beside(context.Background(), func(listening context.Context) {
		select {
		case s := <-signals:
			caught = bySignal(s.(syscall.Signal), false)
			cancel()
		case <-listening.Done():
		}
	})
	return waiting, func() error {
		end()
		cancel()
		return caught
	}
}

// beside runs a function on a goroutine of its own. It returns end, which ends the function's
// context and waits for the function.
func beside(ctx context.Context, do func(ctx context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	return func() { cancel(); running.Wait() }
}
