package counters_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// TestNobodySleepsBesideAFreePermit lets two processes contend for both semaphores, by requests and
// replies of random length, while somebody resizes them and contexts end. No waiter asks by itself, so a
// message or a wake-up that got lost shows: permits are available for long, and somebody waits.
func TestNobodySleepsBesideAFreePermit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			stage.Story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage.Stage) { wakeOneAnother(t, s, seed) })
		})
	}
}

func wakeOneAnother(t *testing.T, s *stage.Stage, seed uint64) {
	roll := stage.Dice(seed)
	pause := func(most int) { time.Sleep(time.Duration(roll(most)) * time.Millisecond) }
	s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
		pause(10)
		defer pause(10)
		return send(commands...)
	})
	clients := []*redlatch.Client{s.Client, s.Other(redlatch.Config{PollCap: time.Hour / 2})}
	leased, plain := fixture.PermitsOf(t, clients[0], "leased", 2), clients[0].Semaphore("plain")
	check.Must(plain.TrySetPermits(s.Limited(), 4))
	var waiting [2]atomic.Int64 // for leased permits, and for plain ones
	asking := func(kind int, ask func() bool) bool {
		defer waiting[kind].Add(-1)
		waiting[kind].Add(1)
		return ask()
	}
	running, end := context.WithTimeout(s.Limited(), 20*time.Second)
	defer end()
	var all sync.WaitGroup
	for w := range 12 {
		c := clients[w%2]
		all.Go(func() {
			for running.Err() == nil {
				ctx, cancel := context.WithTimeout(running, time.Duration(1+roll(8000))*time.Millisecond)
				if n := 1 + roll(3); roll(2) == 0 {
					if asking(1, func() bool { return c.Semaphore("plain").Acquire(ctx, n) == nil }) {
						pause(40)
						check.Must(0, c.Semaphore("plain").Release(ctx, n))
					}
				} else {
					var h *redlatch.Hold
					if asking(0, func() (ok bool) {
						var err error
						h, err = c.PermitSemaphore("leased").Acquire(ctx, redlatch.WithLease(time.Hour))
						return err == nil
					}) {
						pause(40)
						check.Must(0, h.Unlock(ctx))
					}
				}
				cancel()
				pause(20)
			}
		})
	}
	all.Go(func() {
		for running.Err() == nil {
			c, n := clients[roll(2)], 1+roll(4)
			for _, n := range []int{-n, n} {
				check.Must(0, c.PermitSemaphore("leased").AddPermits(s.Limited(), n))
				check.Must(0, c.Semaphore("plain").AddPermits(s.Limited(), n))
				pause(500)
			}
		}
	})
	for idle := [2]int{}; running.Err() == nil; time.Sleep(10 * time.Millisecond) {
		for kind, name := range []string{"leased", "plain"} {
			n, _ := strconv.Atoi(s.Memory.Do(context.Background(), driver.Command{Words: []string{"GET", name}, Key: name}).Str)
			if idle[kind]++; n < 1+2*kind || waiting[kind].Load() == 0 { // some of the plain ones want three
				idle[kind] = 0
			}
			if idle[kind] > 100 {
				t.Errorf("%s: %d permits are available for a second, and somebody waits", name, n)
				end()
			}
		}
	}
	all.Wait()
	fixture.Available(t, leased, 2)
	fixture.Available(t, plain, 4)
}
