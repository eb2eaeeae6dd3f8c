package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// What those who wait are told, and when.

// Goal: ErrNotAcquired means that nothing is held. Method: a release of the waiter's own
// process asks for it and is carried out. While its reply is on the way, the waiter's
// context ends. Then the network is gone.
func TestAWaiterThatIsToldThatItHasNothingHasNothing(t *testing.T) {
	eachWay(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		net := s.tap()
		h := must(k.rival(s.client, "job").Lock(s.limited()))
		waiting, leave := context.WithCancel(s.limited())
		got := make(chan error, 1)
		go func() {
			_, err := k.lock(s.client, "job").Lock(waiting)
			got <- err
		}()
		synctest.Wait()
		var gone atomic.Bool
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			if gone.CompareAndSwap(false, true) {
				send(commands...)
				leave()
				time.Sleep(time.Millisecond)
			}
			return failAll(commands, errCut)
		})
		_ = h.Unlock(s.limited())
		err := <-got
		if errors.Is(err, redlatch.ErrNotAcquired) && !errors.Is(err, redlatch.ErrUnknownOutcome) && s.taken(k) {
			t.Errorf("Lock is %v, and Redis has the lock for another %v", err, s.ttl("job"))
		}
		leave()
		net.set(nil)
	})
}

// Goal: no release of somebody else is overlooked. Method: a hold whose key is gone is
// released, the first reply to that is lost, and the repetition finds nothing. Somebody
// else holds the lock meanwhile and then releases it. Only a message tells of that.
func TestAReleaseThatFindsNothingDoesNotCostTheWaiterTheNextMessage(t *testing.T) {
	for _, k := range kindsOfHolds {
		if k.of == "fair" {
			continue // nobody else gets the lock while somebody waits
		}
		t.Run(k.name, func(t *testing.T) {
			calm := redlatch.Config{PollCap: time.Hour}
			story(t, calm, func(t *testing.T, s *stage) {
				s.teach(k)
				h := must(k.rival(s.client, "job").Lock(s.limited()))
				got := make(chan time.Time, 1)
				go func() {
					next := must(k.lock(s.client, "job").Lock(s.limited()))
					got <- time.Now()
					_ = next.Unlock(s.limited())
				}()
				synctest.Wait()
				s.takeAway(k)
				foreign := must(k.rival(s.stranger(), "job").TryLock(s.limited()))
				s.driver.spoil(once(losesAnswer))
				_ = h.Unlock(s.limited())
				synctest.Wait()
				if err := foreign.Unlock(s.limited()); err != nil {
					t.Fatal(err)
				}
				freed := time.Now()
				within(t, "wait after the release of somebody else", (<-got).Sub(freed), 0, 100*time.Millisecond)
			})
		})
	}
}

func TestUnlockOfALostHoldDoesNotWaitForTheSameOwnersNextRequest(t *testing.T) {
	each(t, kindsOfHolds, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		ctx, l := s.client.WithOwner(s.limited()), k.lock(s.client, "job")
		h := must(l.Lock(ctx, redlatch.WithLease(5*time.Second)))
		<-h.Done()
		time.Sleep(time.Second)
		foreign := must(k.rival(s.stranger(), "job").Lock(s.limited()))
		got := make(chan *redlatch.Hold)
		go func() { got <- must(l.Lock(ctx)) }()
		synctest.Wait()
		began := time.Now()
		is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		within(t, "Unlock", time.Since(began), 0, 100*time.Millisecond)
		_ = foreign.Unlock(s.limited())
		_ = (<-got).Unlock(ctx)
	})
}

func TestTheLastReaderLetsAWriterOfItsProcessInWithoutAMessage(t *testing.T) {
	for _, readers := range []int{1, 3} {
		t.Run(fmt.Sprint(readers), func(t *testing.T) {
			story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage) {
				s.tap().deaf.Store(true)
				m := s.client.RWMutex("job")
				var holds []*redlatch.Hold
				for range readers {
					holds = append(holds, must(m.RLock(s.limited())))
				}
				got := make(chan time.Time, 1)
				go func() {
					w := must(m.Lock(s.limited()))
					got <- time.Now()
					_ = w.Unlock(s.limited())
				}()
				synctest.Wait()
				for _, h := range holds {
					if err := h.Unlock(s.limited()); err != nil {
						t.Fatal(err)
					}
				}
				freed := time.Now()
				within(t, "wait after the last reader", (<-got).Sub(freed), 0, 100*time.Millisecond)
			})
		})
	}
}

func TestWaitersOfOneProcessAreServedInTheOrderOfTheirComing(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.Mutex("job")
		h := must(m.Lock(t.Context()))
		var next atomic.Int32
		done := make(chan struct{})
		const waiters = 50
		for i := range waiters {
			go func() {
				defer func() { done <- struct{}{} }()
				h := must(m.Lock(t.Context()))
				if turn := int(next.Add(1)) - 1; turn != i {
					t.Errorf("waiter %d was served as number %d", i, turn)
				}
				time.Sleep(time.Millisecond)
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		if n := s.client.Stats().Waiters; n != waiters {
			t.Errorf("%d waiters counted, want %d", n, waiters)
		}
		_ = h.Unlock(t.Context())
		for range waiters {
			<-done
		}
	})
}

func TestAWaiterLooksAgainThoughNoMessageEverComes(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		must(s.client.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Hour)))
		// Deleting the key by hand publishes nothing.
		time.AfterFunc(20*time.Second, func() { s.memory.Miniredis().Del("job") })
		began := time.Now()
		h := must(s.other(redlatch.Config{}).Mutex("job").Lock(t.Context()))
		within(t, "wait", time.Since(began), 20*time.Second, 25100*time.Millisecond)
		_ = h.Unlock(t.Context())
	})
}

// TestTheNextInLineLooksAgainToo is the same for a waiter that came to the front without
// having asked Redis itself.
func TestTheNextInLineLooksAgainToo(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.Mutex("job")
		first := must(m.Lock(t.Context()))
		got := make(chan *redlatch.Hold, 2)
		for range 2 {
			go func() { got <- must(m.Lock(t.Context(), redlatch.WithLease(time.Hour))) }()
			synctest.Wait()
		}
		if err := first.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-got
		s.memory.Miniredis().Del("job") // publishes nothing
		began := time.Now()
		_ = (<-got).Unlock(t.Context())
		within(t, "wait", time.Since(began), 0, 5100*time.Millisecond)
	})
}

func TestAKeyWithoutExpiryIsWaitedForCalmly(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		s.memory.Miniredis().HSet("job", "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1", "1")
		before := s.driver.scripts.Load()
		_, err := s.client.Mutex("job").Lock(t.Context(), redlatch.WithWait(time.Minute))
		if !errors.Is(err, redlatch.ErrNotAcquired) {
			t.Errorf("Lock is %v, want ErrNotAcquired", err)
		}
		within(t, "attempts in a minute", s.driver.scripts.Load()-before, 12, 18)
	})
}

func TestExpiryWithoutAMessageIsNoticedWithin20ms(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage) {
		must(s.client.Mutex("job").Lock(t.Context(), redlatch.WithLease(7*time.Second)))
		granted := time.Now().Add(7 * time.Second)
		h := must(s.other(redlatch.Config{PollCap: time.Hour}).Mutex("job").Lock(t.Context()))
		within(t, "time from the expiry to the next hold", time.Since(granted), 0, 20*time.Millisecond)
		_ = h.Unlock(t.Context())
	})
}

func TestTenThousandWaitersAddNoConnection(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server.URL(), redlatch.Config{})
	const waiters, locks = 10_000, 100
	var holds []*redlatch.Hold
	for i := range locks {
		holds = append(holds, must(c.Mutex(fmt.Sprint("l", i)).Lock(t.Context())))
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
	redistest.Eventually(t, 20*time.Second, func() bool {
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

func TestAWaitEndsAfterItsTimeAndLeavesNothing(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		h := must(c.Mutex(name).Lock(t.Context()))
		defer h.Unlock(t.Context())

		other := open(t, url, redlatch.Config{})
		began := time.Now()
		_, err := other.Mutex(name).Lock(t.Context(), redlatch.WithWait(50*time.Millisecond))
		is(t, "Lock with a wait", err, redlatch.ErrNotAcquired)
		within(t, "wait", time.Since(began), 50*time.Millisecond, 500*time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the wait ended, not the context, but the error is %v", err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = other.Mutex(name).Lock(ctx)
		is(t, "Lock under a deadline", err, redlatch.ErrNotAcquired, context.DeadlineExceeded)

		reason := errors.New("no more patience")
		cancelled, give := context.WithCancelCause(t.Context())
		give(reason)
		_, err = other.Mutex(name).Lock(cancelled)
		is(t, "Lock under a cancelled context", err, redlatch.ErrNotAcquired, context.Canceled, reason)

		if got, want := hash(t, d, name), h.Owner()+"=1"; got != want {
			t.Errorf("the hash is %q, want %q", got, want)
		}
		if n := other.Stats(); n.Waiters != 0 || n.Holds != 0 {
			t.Errorf("left over: %+v", n)
		}
	})
}
