package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestOneLostRequestOrReplyChangesNothing(t *testing.T) {
	for name, what := range map[string]fate{"not sent": isNotSent, "lost": isLost, "reply lost": losesAnswer} {
		t.Run(name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				ctx, m := s.client.WithOwner(t.Context()), s.client.Mutex("job")
				count := func(want int) {
					t.Helper()
					status := must(m.Status(t.Context()))
					if n := 0; len(status.Holders) > 0 {
						n = status.Holders[0].Count
						if n != want {
							t.Errorf("count is %d, want %d", n, want)
						}
					} else if want != 0 {
						t.Errorf("the lock is free, want count %d", want)
					}
				}
				s.driver.spoil(once(what))
				outer := must(m.Lock(ctx))
				count(1)
				s.driver.spoil(once(what))
				inner := must(m.Lock(ctx))
				count(2)
				s.driver.spoil(once(what))
				if err := inner.Unlock(ctx); err != nil {
					t.Error("inner Unlock:", err)
				}
				count(1)
				s.driver.spoil(once(what)) // the renewal
				time.Sleep(11 * time.Second)
				synctest.Wait()
				within(t, "TTL after a spoiled renewal", s.ttl("job"), 28*time.Second, 30*time.Second)
				s.driver.spoil(once(what))
				if err := outer.Unlock(ctx); err != nil {
					t.Error("outer Unlock:", err)
				}
				count(0)
			})
		})
	}
}

func TestAHandOverWhoseReplyIsLostReachesTheNextWaiterOnce(t *testing.T) {
	for name, what := range map[string]fate{"lost": isLost, "reply lost": losesAnswer} {
		t.Run(name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				m := s.client.Mutex("job")
				h := must(m.Lock(t.Context()))
				next := make(chan *redlatch.Hold)
				go func() { next <- must(m.Lock(t.Context())) }()
				synctest.Wait()
				s.driver.spoil(once(what))
				if err := h.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
				second := <-next
				status := must(m.Status(t.Context()))
				if n, held := status.HeldBy(second.Owner()); n != 1 || !held {
					t.Errorf("status is %+v, want one hold of %s", status, second.Owner())
				}
				if err := second.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestRenewalSurvivesEveryOutageShorterThanItsLease lets all requests fail for most
// of a lease, again and again.
func TestRenewalSurvivesEveryOutageShorterThanItsLease(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		h := must(s.client.Mutex("job").Lock(t.Context()))
		for range 5 {
			s.driver.spoil(func([]string) fate { return isLost })
			time.Sleep(19 * time.Second)
			s.driver.spoil(nil)
			time.Sleep(9 * time.Second)
			if !h.Valid() {
				t.Fatal("the hold was lost:", h.Err())
			}
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if s.client.Stats().FailedRenewals == 0 {
			t.Error("no renewal failed: the test tests nothing")
		}
	})
}

func TestAnOutageLongerThanTheLeaseEndsTheHoldBeforeItsKey(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		h := must(s.client.Mutex("job").Lock(t.Context()))
		s.driver.spoil(func([]string) fate { return isLost })
		<-h.Done()
		if !s.memory.Miniredis().Exists("job") {
			t.Error("the key expired before the hold ended")
		}
		is(t, "Err", h.Err(), redlatch.ErrLost)
		is(t, "the context's cause", context.Cause(h.Context()), redlatch.ErrLost)
		s.driver.spoil(nil)
		is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
	})
}

// TestAThousandAcquisitionsCancelledInFlight cancels at every stage of the way.
func TestAThousandAcquisitionsCancelledInFlight(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		var wg sync.WaitGroup
		slots := make(chan struct{}, 50)
		for i := range 1000 {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
				defer cancel()
				h, err := c.Mutex(fmt.Sprint(name, i%7)).Lock(ctx)
				if err == nil {
					if err := h.Unlock(ctx); err != nil {
						t.Error("Unlock:", err)
					}
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error("Lock:", err)
				}
			})
		}
		wg.Wait()
		redistest.Eventually(t, 5*time.Second, func() bool {
			for i := range 7 {
				if do(t, d, "EXISTS", fmt.Sprint(name, i)).Int != 0 {
					return false
				}
			}
			return true
		}, "nothing is held")
		if s := c.Stats(); s.Holds != 0 || s.Waiters != 0 || s.Renewals != 0 {
			t.Errorf("left over: %+v", s)
		}
	})
}

func TestRepliesThatARealServerGaveAndAProxyDropped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	c := open(t, proxy.URL(), redlatch.Config{})
	ctx, m := c.WithOwner(t.Context()), c.Mutex("job")
	for range 20 {
		proxy.DropReplies(1, redistest.Containing("EVALSHA"))
		outer, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		proxy.DropReplies(1, redistest.Containing("EVALSHA"))
		inner, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if status := must(m.Status(ctx)); len(status.Holders) != 1 || status.Holders[0].Count != 2 {
			t.Fatalf("status is %+v, want one holder with 2", status)
		}
		for i, command := range []string{"EVALSHA", "HDEL"} {
			h := []*redlatch.Hold{inner, outer}[i]
			proxy.DropReplies(1, redistest.Containing(command))
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if status := must(m.Status(ctx)); status.Locked {
			t.Fatalf("status is %+v, want free", status)
		}
	}
}

// A hand-over that is decided in the moment in which the heir's time is up: whoever is
// told that it did not get the lock must not hold it.
func TestAHandOverAsTheWaitEndsLeavesNoHoldBehind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c, err := redlatch.Open(ctx, "memory://", redlatch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	m := c.Mutex("job")
	var odd sync.Map
	var work sync.WaitGroup
	end := time.Now().Add(3 * time.Second)
	for range 32 {
		work.Go(func() {
			for time.Now().Before(end) {
				short, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(5000))*time.Microsecond)
				h, err := m.Lock(short)
				cancel()
				switch {
				case err == nil:
					_ = h.Unlock(ctx)
				case !errors.Is(err, redlatch.ErrNotAcquired) && !errors.Is(err, redlatch.ErrUnknownOutcome):
					odd.Store(err.Error(), true)
				}
			}
		})
	}
	work.Wait()
	odd.Range(func(text, _ any) bool {
		t.Errorf("the wait ended with its context, and the error is neither ErrNotAcquired nor ErrUnknownOutcome: %v", text)
		return true
	})
	redistest.Eventually(t, 5*time.Second, func() bool { return c.Stats().Holds == 0 }, "nothing is held and renewed for nobody")
}
