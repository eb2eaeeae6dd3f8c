package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// fairLibrary measures what a grant costs in all, with clients of the library: every command of
// theirs counts, the renewals, keep-alives and subscriptions too.
func (s *scaled) fairLibrary(ctx context.Context, p page) error {
	p.line("### Fair lock: µs of Redis a grant, all commands of the library\n")
	var rows [][]string
	for _, waiters := range s.waiters {
		if err := s.clear(ctx); err != nil {
			return err
		}
		row, err := s.fairGrants(ctx, waiters)
		if err != nil {
			return fmt.Errorf("%d waiters: %w", waiters, err)
		}
		rows = append(rows, row)
	}
	p.table([]string{"waiters", "scripts a grant", "µs of scripts", "µs of subscriptions", "µs in all"}, rows)
	return nil
}

// libraryClients share the waiters.
const libraryClients = 4

// fairGrants has goroutines of several clients lock and unlock one fair mutex in turn. Once all
// of them wait, a number of grants is measured.
func (s *scaled) fairGrants(ctx context.Context, waiters int) (row []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	granted, failed := make(chan struct{}), make(chan error, waiters+1)
	for i := range libraryClients {
		d, err := rueidis.Open(ctx, rueidis.Options{Address: s.bench.server.address, CommandTimeout: time.Minute})
		if err != nil {
			cancel()
			return nil, err
		}
		defer d.Close()
		client, err := redlatch.New(d, redlatch.Config{CommandTimeout: time.Minute})
		if err != nil {
			cancel()
			return nil, err
		}
		defer client.Close(context.Background())
		for range (waiters + libraryClients - i) / libraryClients { // one more holds the lock
			done.Go(func() { failed <- cycle(ctx, client.FairMutex("fair"), granted) })
		}
	}
	defer done.Wait()
	defer cancel()
	if err := s.await(ctx, failed, granted, waiters); err != nil {
		return nil, err
	}
	return s.fairRow(ctx, waiters, granted, failed)
}

// cycle takes the mutex again and again, and holds it until the grant has been counted.
func cycle(ctx context.Context, m *redlatch.FairMutex, granted chan<- struct{}) error {
	for {
		hold, err := m.Lock(ctx)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		select {
		case granted <- struct{}{}:
		case <-ctx.Done():
		}
		if err := hold.Unlock(context.Background()); err != nil {
			return err
		}
	}
}

// ignoreEnd is nil for an error that says that the context has ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// await waits until all stand in the queue. Then it lets as many grants pass as the scripts need
// to be known.
func (s *scaled) await(ctx context.Context, failed <-chan error, granted <-chan struct{}, waiters int) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		length, err := s.bench.meter.client.Do(limited, s.bench.meter.client.B().Llen().Key("redisson_lock_queue:{fair}").Build()).AsInt64()
		if err != nil {
			return err
		}
		if int(length) == waiters {
			break
		}
		select {
		case err := <-failed:
			return fmt.Errorf("a waiter ended: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return s.pass(limited, failed, granted, 20)
}

// pass lets a number of grants happen.
func (s *scaled) pass(ctx context.Context, failed <-chan error, granted <-chan struct{}, grants int) error {
	for range grants {
		select {
		case <-granted:
		case err := <-failed:
			return fmt.Errorf("a waiter ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fairRow measures grants.
func (s *scaled) fairRow(ctx context.Context, waiters int, granted <-chan struct{}, failed <-chan error) ([]string, error) {
	var figures [2][3]float64
	for i := range figures {
		if i == 1 {
			if err := s.pass(ctx, failed, granted, s.grants); err != nil {
				return nil, err
			}
		}
		work, err := s.bench.meter.work(ctx)
		if err != nil {
			return nil, err
		}
		figures[i][0] = float64(work.scripts)
		if figures[i][1], err = s.micros(ctx, "evalsha"); err != nil {
			return nil, err
		}
		if figures[i][2], err = s.micros(ctx, "subscribe", "unsubscribe"); err != nil {
			return nil, err
		}
	}
	row := []string{strconv.Itoa(waiters)}
	per := func(column int) float64 { return (figures[1][column] - figures[0][column]) / float64(s.grants) }
	return append(row, fmt.Sprintf("%.1f", per(0)), fmt.Sprintf("%.0f", per(1)), fmt.Sprintf("%.0f", per(2)), fmt.Sprintf("%.0f", per(1)+per(2))), nil
}
