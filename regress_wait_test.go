package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// What those who wait are told, and when.

// Goal: ErrNotAcquired means that nothing is held. Method: a release of the waiter's own
// process asks for it and is carried out. While its reply is on the way, the waiter's
// context ends. Then the network is gone.
func TestAWaiterThatIsToldThatItHasNothingHasNothing(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
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
		if errors.Is(err, redlatch.ErrNotAcquired) && !errors.Is(err, redlatch.ErrUnknownOutcome) && s.memory.Miniredis().Exists("job") {
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
	for _, k := range lockKinds {
		if k.name == "fair" {
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
				s.memory.Miniredis().Del("job")
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
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
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
