package locks_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What those who wait are told, and when.

func TestTheLastReaderLetsAWriterOfItsProcessInWithoutAMessage(t *testing.T) {
	for _, readers := range []int{1, 3} {
		t.Run(fmt.Sprint(readers), func(t *testing.T) {
			stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
				s.Tap().Deaf.Store(true)
				m := s.Client.RWMutex("job")
				var holds []*redlatch.Hold
				for range readers {
					holds = append(holds, check.Must(m.RLock(s.Limited())))
				}
				got := make(chan time.Time, 1)
				go func() {
					w := check.Must(m.Lock(s.Limited()))
					got <- time.Now()
					_ = w.Unlock(s.Limited())
				}()
				synctest.Wait()
				for _, h := range holds {
					if err := h.Unlock(s.Limited()); err != nil {
						t.Fatal(err)
					}
				}
				freed := time.Now()
				check.Within(t, "wait after the last reader", (<-got).Sub(freed), 0, 100*time.Millisecond)
			})
		})
	}
}

func TestAWaiterLooksAgainThoughNoMessageEverComes(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		check.Must(s.Client.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Hour)))
		// Deleting the key by hand publishes nothing.
		time.AfterFunc(20*time.Second, func() { s.Memory.Miniredis().Del("job") })
		began := time.Now()
		h := check.Must(s.Other(redlatch.Config{}).Mutex("job").Lock(t.Context()))
		check.Within(t, "wait", time.Since(began), 20*time.Second, 25100*time.Millisecond)
		_ = h.Unlock(t.Context())
	})
}

// TestTheNextInLineLooksAgainToo is the same for a waiter that came to the front without
// having asked Redis itself.
func TestTheNextInLineLooksAgainToo(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.Mutex("job")
		first := check.Must(m.Lock(t.Context()))
		got := make(chan *redlatch.Hold, 2)
		for range 2 {
			go func() { got <- check.Must(m.Lock(t.Context(), redlatch.WithLease(time.Hour))) }()
			synctest.Wait()
		}
		if err := first.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-got
		s.Memory.Miniredis().Del("job") // publishes nothing
		began := time.Now()
		_ = (<-got).Unlock(t.Context())
		check.Within(t, "wait", time.Since(began), 0, 5100*time.Millisecond)
	})
}

func TestAKeyWithoutExpiryIsWaitedForCalmly(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		s.Memory.Miniredis().HSet("job", "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1", "1")
		before := s.Driver.Scripts.Load()
		_, err := s.Client.Mutex("job").Lock(t.Context(), redlatch.WithWait(time.Minute))
		if !errors.Is(err, redlatch.ErrNotAcquired) {
			t.Errorf("Lock is %v, want ErrNotAcquired", err)
		}
		check.Within(t, "attempts in a minute", s.Driver.Scripts.Load()-before, 12, 18)
	})
}

func TestExpiryWithoutAMessageIsNoticedWithin20ms(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
		check.Must(s.Client.Mutex("job").Lock(t.Context(), redlatch.WithLease(7*time.Second)))
		granted := time.Now().Add(7 * time.Second)
		h := check.Must(s.Other(redlatch.Config{PollCap: time.Hour}).Mutex("job").Lock(t.Context()))
		check.Within(t, "time from the expiry to the next hold", time.Since(granted), 0, 20*time.Millisecond)
		_ = h.Unlock(t.Context())
	})
}

func TestTenThousandWaitersAddNoConnection(t *testing.T) {
	server := redistest.Start(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{CommandTimeout: 30 * time.Second, ReleaseTimeout: 30 * time.Second})
	const waiters, locks = 10_000, 100
	var holds []*redlatch.Hold
	for i := range locks {
		holds = append(holds, check.Must(c.Mutex(fmt.Sprint("l", i)).Lock(t.Context())))
	}
	var wg sync.WaitGroup
	for i := range waiters {
		wg.Go(func() {
			h, err := c.Mutex(fmt.Sprint("l", i%locks)).Lock(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if err := h.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	redistest.Eventually(t, time.Minute, func() bool {
		s := c.Stats()
		return s.Waiters == waiters && s.Subscriptions == locks
	}, "all wait")
	clients := server.CLI(t, "CLIENT", "LIST").(string)
	if n := strings.Count(clients, "name=redlatch"); n != 2 {
		t.Errorf("%d connections, want 2:\n%s", n, clients)
	}
	for _, h := range holds {
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if keys := server.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
}
