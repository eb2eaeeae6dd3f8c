package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// phase is what becomes of a pair that is finished now.
type phase = int32

const (
	warmingUp phase = iota // it is not counted in the rate
	counting
	over // and no other begins
)

// squad is the goroutines of one slice.
type squad struct {
	start    chan struct{}
	phase    atomic.Int32
	inside   atomic.Int64 // pairs finished while counting
	pairs    atomic.Int64 // all
	ended    atomic.Int64
	failure  sync.Once
	err      error         // the first one; once finished is closed
	finished chan struct{} // closed when all have ended
}

// newSquad returns with every goroutine waiting for the start.
func newSquad(workers []worker) *squad {
	s := &squad{start: make(chan struct{}), finished: make(chan struct{})}
	var ready, done sync.WaitGroup
	for _, w := range workers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-s.start
			if err := s.work(w); err != nil {
				s.failure.Do(func() { s.err = err })
			}
			s.ended.Add(1)
		})
	}
	go func() {
		done.Wait()
		close(s.finished)
	}()
	ready.Wait()
	return s
}

// count lets the squad warm up, count and end.
func (s *squad) count(warmUp, slice time.Duration, run *pairRun) {
	time.Sleep(warmUp)
	s.phase.Store(counting)
	began := time.Now()
	time.Sleep(slice)
	s.phase.Store(over)
	run.window = time.Since(began)
}

// work makes pairs until the time is up.
func (s *squad) work(w worker) error {
	ctx := context.Background()
	var pairs, inside int64
	defer func() {
		s.pairs.Add(pairs)
		s.inside.Add(inside)
	}()
	for now := s.phase.Load(); now != over; {
		if err := w.Lock(ctx); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if err := w.Unlock(ctx); err != nil {
			return fmt.Errorf("unlock: %w", err)
		}
		pairs++
		if now = s.phase.Load(); now == counting {
			inside++
		}
	}
	return nil
}
