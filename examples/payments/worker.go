package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
)

// Payment is one payment that is due.
type Payment struct {
	ID    string
	Cents int64
}

// Bank knows what is due, and pays it.
type Bank interface {
	// Due returns the next payment, which stays due until it is paid; false if there is none.
	Due() (Payment, bool)
	// Pay refuses a token that is older than the newest that it has seen. So a worker that has been
	// overtaken cannot pay.
	Pay(ctx context.Context, token int64, p Payment) error
}

// Worker pays what is due. Any number of workers may run. The one that has the lock pays.
type Worker struct {
	lock  redlatch.Lock
	bank  Bank
	pause time.Duration // between two looks at what is due, and after a failure
	log   *slog.Logger
}

// Run works until ctx ends. If the lock is lost, Run stops at once, and waits for the lock again.
func (w *Worker) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := redlatch.Do(ctx, w.lock, w.payAll, redlatch.WithFencing())
		if err != nil && ctx.Err() == nil {
			w.log.Warn("the worker has stopped, and tries again", "error", err)
			pause(ctx, w.pause)
		}
	}
	return ctx.Err()
}

// payAll pays while the lock is held.
func (w *Worker) payAll(ctx context.Context, hold *redlatch.Hold) error {
	for ctx.Err() == nil {
		if !hold.Valid() { // right before the effect
			return fmt.Errorf("pay: %w", redlatch.ErrLost)
		}
		payment, ok := w.bank.Due()
		if !ok {
			pause(ctx, w.pause)
			continue
		}
		if err := w.bank.Pay(ctx, hold.Token(), payment); err != nil {
			return fmt.Errorf("pay %s: %w", payment.ID, err)
		}
	}
	return context.Cause(ctx)
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
