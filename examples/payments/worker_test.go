package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/redlatchtest"
)

func TestTheProgramPaysAll(t *testing.T) {
	t.Parallel()
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// slowBank takes a minute for each payment, and notes who pays.
type slowBank struct {
	guard fence.Memory

	mu     sync.Mutex
	paying int // payments under way
	most   int
	paid   int
}

func (b *slowBank) Due() (Payment, bool) { return Payment{ID: "next"}, true }

func (b *slowBank) Pay(ctx context.Context, token int64, _ Payment) error {
	b.count(1)
	defer b.count(-1)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Minute):
	}
	if err := b.guard.Pass(ctx, token, "payments"); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paid++
	return nil
}

func (b *slowBank) count(change int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paying += change
	b.most = max(b.most, b.paying)
}

func (b *slowBank) numbers() (paying, most, paid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paying, b.most, b.paid
}

// Goal: whatever happens to the lock, a worker stops before another one pays, and the work goes on
// when the fault is over. Method: two workers, a fault after five minutes, and ten more.
func TestWorkStopsWhenTheLockIsLost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*redlatchtest.Server){
		"the server does not answer": func(s *redlatchtest.Server) {
			defer s.Freeze()()
			time.Sleep(time.Minute)
		},
		"the server refuses everything": func(s *redlatchtest.Server) {
			defer s.Deny()()
			time.Sleep(time.Minute)
		},
		"the server is slow": func(s *redlatchtest.Server) {
			defer s.Delay(0)
			s.Delay(2 * time.Second)
			time.Sleep(5 * time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if most := survive(t, fault); most != 1 {
					t.Errorf("%d workers paid at a time", most)
				}
			})
		})
	}
}

// If an operator takes the lock away, the worker learns of it at its next renewal. Until then two may
// work, and the token decides whose payment counts.
func TestWorkGoesOnAfterAnOperatorTookTheLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if most := survive(t, func(s *redlatchtest.Server) { s.Lose("payments") }); most > 2 {
			t.Errorf("%d workers paid at a time", most)
		}
	})
}

// survive lets two workers work through a fault. It returns how many have paid at a time.
func survive(t *testing.T, fault func(*redlatchtest.Server)) (most int) {
	s, bank := redlatchtest.NewServer(t), &slowBank{}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	for i := range 2 {
		w := &Worker{
			lock: s.Client(redlatch.Config{Name: fmt.Sprint("worker-", i)}).Mutex("payments"),
			bank: bank, pause: time.Second, log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		}
		workers.Go(func() { _ = w.Run(ctx) })
	}
	time.Sleep(5*time.Minute + 30*time.Second)
	_, most, paid := bank.numbers()
	if paid != 5 {
		t.Errorf("%d payments in the first five minutes", paid)
	}
	fault(s)
	time.Sleep(10 * time.Minute)
	_, most, paid = bank.numbers()
	if paid < 12 {
		t.Errorf("after the fault the work did not go on: %d payments", paid)
	}
	return most
}
