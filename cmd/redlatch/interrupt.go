package main

import (
	"context"
	"os"
	"os/signal"
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
	stopped := make(chan struct{})
	caught := make(chan os.Signal, 1)
	go func() {
		defer close(caught)
		select {
		case s := <-signals:
			caught <- s
			cancel()
		case <-stopped:
		}
	}()
	return waiting, func() error {
		close(stopped)
		defer cancel()
		if s, ok := (<-caught).(syscall.Signal); ok {
			return bySignal(s, false)
		}
		return nil
	}
}
