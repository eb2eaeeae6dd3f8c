// Command transfer moves money between accounts. Each transfer holds the locks of both accounts, as one
// Multi, and writes both rows through a guard. So two transfers never meet on an account, and the late
// write of a holder that was overtaken is refused. It needs no server:
//
//	go run ./examples/transfer
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/fence"
)

func main() {
	folder, err := os.MkdirTemp("", "transfer")
	if err == nil {
		err = run(context.Background(), filepath.Join(folder, "bank.db"), os.Stdout)
		err = errors.Join(err, os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "transfer:", err)
		os.Exit(1)
	}
}

const (
	accounts  = 5
	opening   = 1000 // cents in each account
	workers   = 4
	transfers = 25 // of each worker
)

// run moves money about, and checks that none was lost or made.
func run(ctx context.Context, file string, out io.Writer) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	db, err := openBank(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	server, err := memory.Open(ctx, memory.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	client, err := redlatch.New(server, redlatch.Config{})
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))

	b := &bank{db, client}
	if err := b.work(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d transfers by %d workers\n", workers*transfers, workers)
	late := b.transferLate(ctx, 1, 2, 100)
	fmt.Fprintln(out, "a late transfer:", late)
	if !errors.Is(late, fence.ErrStale) {
		return errors.New("a late transfer was not refused")
	}
	sum, err := b.sum(ctx)
	if err == nil && sum != accounts*opening {
		err = fmt.Errorf("the accounts have %d cents, want %d", sum, accounts*opening)
	}
	fmt.Fprintf(out, "all accounts have %d cents together\n", sum)
	return err
}

// work runs the workers.
func (b *bank) work(ctx context.Context) error {
	var all sync.WaitGroup
	failures := make(chan error, workers)
	for range workers {
		all.Go(func() {
			for range transfers {
				from := 1 + rand.IntN(accounts)
				to := 1 + (from+rand.IntN(accounts-1))%accounts // another one
				err := b.transfer(ctx, from, to, rand.Int64N(50))
				if err != nil && !errors.Is(err, errTooPoor) {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	return <-failures
}
