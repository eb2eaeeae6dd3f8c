// Command payments shows an application whose work must stop when its lock is lost, and how that is
// tested: worker_test.go takes the lock away, freezes the server, and lets the lease end, all in fake
// time. Two workers share a queue of payments. Run it without a server:
//
//	go run ./examples/payments
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/fence"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "payments:", err)
		os.Exit(1)
	}
}

// run pays all payments with two workers.
func run(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	connection, err := memory.Open(ctx, memory.Options{})
	if err != nil {
		return err
	}
	defer connection.Close()

	bank := &ledger{}
	for i := range payments {
		bank.due = append(bank.due, Payment{ID: fmt.Sprint("payment ", i), Cents: 100})
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	for range 2 {
		client, err := redlatch.New(connection, redlatch.Config{})
		if err != nil {
			return err
		}
		defer client.Close(context.WithoutCancel(ctx))
		w := &Worker{client.Mutex("payments"), bank, 10 * time.Millisecond, slog.Default()}
		workers.Go(func() { _ = w.Run(ctx) })
	}
	for _, due := bank.Due(); due; _, due = bank.Due() {
		if pause(ctx, 10*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("payments are left: %w", ctx.Err())
		}
	}
	stop()
	workers.Wait() // before their clients are closed
	fmt.Printf("payments: paid %d of %d\n", len(bank.paid), payments)
	return nil
}

const payments = 100

// ledger is a bank in memory.
type ledger struct {
	guard fence.Memory

	mu        sync.Mutex
	due, paid []Payment
}

// Due returns the first payment that is due.
func (l *ledger) Due() (Payment, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.due) == 0 {
		return Payment{}, false
	}
	return l.due[0], true
}

// Pay pays the first payment that is due, unless a newer worker has paid.
func (l *ledger) Pay(ctx context.Context, token int64, p Payment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.guard.Pass(ctx, token, "payments"); err != nil {
		return err
	}
	if len(l.due) == 0 || l.due[0] != p {
		return fmt.Errorf("%s is not due", p.ID)
	}
	l.due, l.paid = l.due[1:], append(l.paid, p)
	return nil
}
