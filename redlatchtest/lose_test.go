package redlatchtest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// Goal: what is denied stays denied while Lose takes a lock away.
func TestLoseLetsNoOtherClientThrough(t *testing.T) {
	const locks = 50
	s := redlatchtest.NewServer(t)
	holder := s.Client(redlatch.Config{})
	for n := range locks {
		if _, err := holder.Mutex(fmt.Sprint(n)).Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	var lost, granted atomic.Int64
	other := s.Client(redlatch.Config{})
	allow := s.Deny()
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				if _, err := other.Mutex(fmt.Sprint(lost.Load())).TryLock(ctx); err == nil {
					granted.Add(1)
				}
			}
		})
	}
	for n := range locks {
		lost.Store(int64(n))
		s.Lose(fmt.Sprint(n))
	}
	cancel()
	others.Wait()
	allow()
	if n := granted.Load(); n > 0 {
		t.Errorf("a client took %d locks, although everything was denied", n)
	}
}
