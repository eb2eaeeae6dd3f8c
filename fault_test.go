package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// once spoils the next request and no other.
func once(what fate) func([]string) fate {
	spent := false
	return func([]string) fate {
		if spent {
			return arrives
		}
		spent = true
		return what
	}
}

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
		for _, h := range []*redlatch.Hold{inner, outer} {
			proxy.DropReplies(1, redistest.Containing("EVALSHA"))
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if status := must(m.Status(ctx)); status.Locked {
			t.Fatalf("status is %+v, want free", status)
		}
	}
}

func TestAServerThatForgetsItsScripts(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server.URL(), redlatch.Config{})
	for range 3 {
		server.CLI(t, "SCRIPT", "FLUSH")
		h, err := c.Mutex("job").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		server.CLI(t, "SCRIPT", "FLUSH")
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServerThatRestartsEmptyUnderHoldersAndWaiters(t *testing.T) {
	server := redistest.Start(t)
	cfg := redlatch.Config{LeaseTime: 3 * time.Second}
	c, other := open(t, server.URL(), cfg), open(t, server.URL(), cfg)
	h, err := c.Mutex("job").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		next, err := other.Mutex("job").Lock(t.Context())
		if err == nil {
			err = next.Unlock(t.Context())
		}
		got <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return other.Stats().Subscriptions == 1 }, "somebody waits")
	server.Kill()
	server.Restart(t)
	if err := <-got; err != nil {
		t.Error("the waiter did not survive the restart:", err)
	}
	<-h.Done()
	is(t, "Err of the holder", h.Err(), redlatch.ErrLost)
}

// TestAFrozenServer stops the server as a whole: it accepts connections and
// answers nothing.
func TestAFrozenServer(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server.URL(), redlatch.Config{LeaseTime: 2 * time.Second, CommandTimeout: 1500 * time.Millisecond, ReleaseTimeout: 300 * time.Millisecond})
	h := must(c.Mutex("held").Lock(t.Context()))
	other := must(c.Mutex("other").Lock(t.Context(), redlatch.WithLease(time.Minute)))
	expiry := time.Now().Add(2 * time.Second)
	server.Freeze()

	began := time.Now()
	_, err := c.Mutex("free").Lock(t.Context(), redlatch.WithWait(200*time.Millisecond))
	within(t, "wait with a frozen server", time.Since(began), 200*time.Millisecond, 250*time.Millisecond+slack)
	is(t, "Lock", err, redlatch.ErrUnknownOutcome)
	if errors.Is(err, redlatch.ErrNotAcquired) {
		t.Errorf("a frozen server became %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = c.Mutex("free").TryLock(ctx)
	is(t, "TryLock", err, redlatch.ErrUnknownOutcome, context.Canceled)

	began = time.Now()
	is(t, "Unlock", other.Unlock(t.Context()), redlatch.ErrUnknownOutcome)
	within(t, "Unlock with a frozen server", time.Since(began), 250*time.Millisecond, 300*time.Millisecond+slack)

	if late := lastValid(h).Sub(expiry); late > 0 {
		t.Errorf("the hold was valid %v after the expiry in Redis", late)
	}
	began = time.Now()
	_, err = c.Mutex("free").Lock(t.Context())
	within(t, "Lock without any bound of the caller's", time.Since(began), 0, 1500*time.Millisecond+slack)
	if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
		t.Errorf("Lock is %v, want an error of the network", err)
	}
	server.Thaw()
	redistest.Eventually(t, 10*time.Second, func() bool {
		h, err := c.Mutex("free").TryLock(t.Context())
		return err == nil && h.Unlock(t.Context()) == nil
	}, "the client works again")
}

// lastValid waits for the end of a hold and returns a moment at which it was still valid,
// not long before. Unlike the moment at which a goroutine is woken, it does not depend on
// how busy the machine is.
func lastValid(h *redlatch.Hold) time.Time {
	var last time.Time
	for {
		now := time.Now()
		if !h.Valid() {
			return last
		}
		last = now
		select {
		case <-h.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// slack is what a busy machine may add to a time that is measured.
const slack = 400 * time.Millisecond

func TestAServerThatIsDown(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server.URL(), redlatch.Config{CommandTimeout: 500 * time.Millisecond})
	h := must(c.Mutex("job").Lock(t.Context()))
	server.Kill()
	began := time.Now()
	_, err := c.Mutex("free").Lock(t.Context())
	within(t, "Lock", time.Since(began), 0, 500*time.Millisecond+slack)
	if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
		t.Errorf("Lock is %v, want an error of the network", err)
	}
	if err := h.Unlock(t.Context()); err == nil {
		t.Error("Unlock succeeded without a server")
	}
	_, err = redlatch.Open(t.Context(), server.URL(), redlatch.Config{CommandTimeout: 500 * time.Millisecond})
	is(t, "Open", err, syscall.ECONNREFUSED)
	server.Restart(t)
	redistest.Eventually(t, 10*time.Second, func() bool {
		h, err := c.Mutex("free").TryLock(t.Context())
		return err == nil && h.Unlock(t.Context()) == nil
	}, "the client works again")
}

// TestAServerThatMayNotPublish locks with an ACL that knows no channels: the lock
// is released all the same, and the waiter finds it by itself.
func TestAServerThatMayNotPublish(t *testing.T) {
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "mute", "on", ">secret", "~*", "+@all", "resetchannels")
	url := fmt.Sprintf("redis://mute:secret@%s", server.Addr())
	holder := open(t, url, redlatch.Config{})
	waiter := open(t, url, redlatch.Config{PollCap: 100 * time.Millisecond})
	h := must(holder.Mutex("job").Lock(t.Context()))
	got := make(chan error, 1)
	go func() {
		h, err := waiter.Mutex("job").Lock(t.Context())
		if err == nil {
			err = h.Unlock(t.Context())
		}
		got <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return waiter.Stats().Waiters == 1 }, "somebody waits")
	if err := h.Unlock(t.Context()); err != nil {
		t.Error("Unlock:", err)
	}
	if err := <-got; err != nil {
		t.Error("the waiter:", err)
	}
}

// A hand-over that is settled in the moment in which the heir's time is up: whoever is
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
