package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// raw is a plain connection to a server, to look at what locks leave there.
func raw(t *testing.T, url string) driver.Driver {
	t.Helper()
	var d driver.Driver
	var err error
	if name, ok := strings.CutPrefix(url, "memory://"); ok {
		d, err = memory.Open(t.Context(), memory.Options{Name: name})
	} else {
		d, err = rueidis.Open(t.Context(), rueidis.Options{Address: strings.TrimPrefix(url, "redis://")})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func do(t *testing.T, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	r := d.Do(t.Context(), driver.Command{Words: words, Key: words[min(1, len(words)-1)]})
	if r.Err != nil {
		t.Fatal(words, r.Err)
	}
	return r
}

// hash writes a hash of one field as "field=value", and "" for none.
func hash(t *testing.T, d driver.Driver, key string) string {
	t.Helper()
	var words []string
	for _, r := range do(t, d, "HGETALL", key).Array {
		words = append(words, r.Str)
	}
	return strings.Join(words, "=")
}

func pttl(t *testing.T, d driver.Driver, key string) time.Duration {
	t.Helper()
	return time.Duration(do(t, d, "PTTL", key).Int) * time.Millisecond
}

// messages collects what is published on a channel.
func messages(t *testing.T, d driver.Driver, channel string) <-chan string {
	t.Helper()
	ready, got := make(chan struct{}), make(chan string, 100)
	l, err := d.Listen(t.Context(), driver.Events{
		Subscribed: func(string) { close(ready) },
		Message:    func(_, payload string) { got <- payload },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	if err := l.Subscribe(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	<-ready
	return got
}

func TestWhatAMutexLeavesInRedis(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		ctx, c, d, name := t.Context(), open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		told := messages(t, d, "redisson_lock__channel:{"+name+"}")
		m := c.Mutex(name)
		ctx = c.WithOwner(ctx)

		outer := must(m.Lock(ctx, redlatch.WithLease(20*time.Second)))
		if got, want := hash(t, d, name), outer.Owner()+"=1"; got != want {
			t.Errorf("after Lock the hash is %q, want %q", got, want)
		}
		if !strings.HasPrefix(outer.Owner(), c.ID()+":") {
			t.Errorf("owner %q does not begin with the client's id %q", outer.Owner(), c.ID())
		}
		within(t, "TTL after Lock", pttl(t, d, name), 19*time.Second, 20*time.Second)

		inner := must(m.Lock(ctx))
		if got, want := hash(t, d, name), outer.Owner()+"=2"; got != want {
			t.Errorf("after re-entry the hash is %q, want %q", got, want)
		}
		within(t, "TTL after re-entry", pttl(t, d, name), 29*time.Second, 30*time.Second)

		if err := inner.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := hash(t, d, name), outer.Owner()+"=1"; got != want {
			t.Errorf("after the inner Unlock the hash is %q, want %q", got, want)
		}
		within(t, "TTL after the inner Unlock, which never falls", pttl(t, d, name), 29*time.Second, 30*time.Second)
		if err := outer.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if got := do(t, d, "EXISTS", name).Int; got != 0 {
			t.Error("the key is there after the last Unlock")
		}
		if got := <-told; got != "0" {
			t.Errorf("published %q, want \"0\"", got)
		}
		select {
		case got := <-told:
			t.Errorf("published %q besides", got)
		default:
		}
	})
}

func TestANameWithABraceBringsItsOwnTag(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), "{"+redistest.Name(t)+"}:x"
		told := messages(t, d, "redisson_lock__channel:"+name)
		h := must(c.Mutex(name).Lock(t.Context()))
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != "0" {
			t.Errorf("published %q, want \"0\"", got)
		}
	})
}

func TestTryLockOfAHeldMutexSaysWhoHoldsIt(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{}), redistest.Name(t)
		h := must(c.Mutex(name).Lock(t.Context()))
		_, err := open(t, url, redlatch.Config{}).Mutex(name).TryLock(t.Context())
		is(t, "TryLock", err, redlatch.ErrNotAcquired)
		if err != nil && (!strings.Contains(err.Error(), h.Owner()) || !strings.Contains(err.Error(), name)) {
			t.Errorf("the error %q names neither the holder nor the lock", err)
		}
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		h = must(c.Mutex(name).TryLock(t.Context()))
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
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

func TestAReleaseWakesAWaiterOfAnotherProcessAtOnce(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		name := redistest.Name(t)
		holder := open(t, url, redlatch.Config{PollCap: time.Hour})
		waiter := open(t, url, redlatch.Config{PollCap: time.Hour})
		h := must(holder.Mutex(name).Lock(t.Context(), redlatch.WithLease(time.Hour)))
		got := make(chan error, 1)
		go func() {
			h, err := waiter.Mutex(name).Lock(t.Context())
			if err == nil {
				err = h.Unlock(t.Context())
			}
			got <- err
		}()
		redistest.Eventually(t, 5*time.Second, func() bool { return waiter.Stats().Subscriptions == 1 }, "the waiter listens")
		if err := h.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-got:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the waiter was not woken")
		}
		redistest.Eventually(t, 2*time.Second, func() bool { return waiter.Stats().Subscriptions == 0 }, "the subscription ends within 2 s")
	})
}

func TestOneOwnerReentersAndOthersDoNot(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{}), redistest.Name(t)
		m := c.Mutex(name)
		h := must(m.Lock(t.Context()))

		_, err := m.Lock(h.Context())
		is(t, "Lock below the hold's context", err, redlatch.ErrReentry)
		_, err = m.TryLock(c.WithOwner(h.Context()))
		is(t, "TryLock by another owner below the hold's context", err, redlatch.ErrReentry)
		other := must(c.Mutex(name + "-2").Lock(h.Context()))
		_, err = m.Lock(other.Context())
		is(t, "Lock below the context of a hold within", err, redlatch.ErrReentry)
		if err := errors.Join(other.Unlock(t.Context()), h.Unlock(t.Context())); err != nil {
			t.Fatal(err)
		}
		again := must(m.Lock(context.WithoutCancel(h.Context())))
		if err := again.Unlock(t.Context()); err != nil {
			t.Error("below the context of a released hold:", err)
		}

		ctx := c.WithOwner(t.Context())
		var holds []*redlatch.Hold
		for range 5 {
			h := must(m.Lock(ctx))
			holds, ctx = append(holds, h), h.Context()
		}
		status := must(m.Status(t.Context()))
		if n, held := status.HeldBy(holds[0].Owner()); n != 5 || !held {
			t.Errorf("status is %+v, want 5 holds of %s", status, holds[0].Owner())
		}
		for _, h := range holds { // in the order of acquisition: any order is good
			if err := h.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if status := must(m.Status(t.Context())); status.Locked {
			t.Errorf("status after the last Unlock is %+v", status)
		}
	})
}

func TestGoroutinesOfOneOwnerDoNotExcludeEachOther(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{}), redistest.Name(t)
		ctx := c.WithOwner(t.Context())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					h, err := c.Mutex(name).Lock(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					if err := h.Unlock(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if status := must(c.Mutex(name).Status(ctx)); status.Locked {
			t.Errorf("status after all is %+v", status)
		}
	})
}

func TestForceUnlockFreesAndTellsTheHolder(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{LeaseTime: 300 * time.Millisecond}), redistest.Name(t)
		m := open(t, url, redlatch.Config{}).Mutex(name)
		if forced := must(m.ForceUnlock(t.Context())); forced {
			t.Error("a free mutex was forced")
		}
		h := must(c.Mutex(name).Lock(t.Context()))
		if forced := must(m.ForceUnlock(t.Context())); !forced {
			t.Error("a held mutex was not forced")
		}
		next := must(m.TryLock(t.Context()))
		<-h.Done()
		is(t, "Err", h.Err(), redlatch.ErrLost)
		is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
		if err := next.Unlock(t.Context()); err != nil {
			t.Error("the next holder was disturbed:", err)
		}
	})
}

func TestUnlockAfterALossThatNobodyNoticedIsErrLost(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		h := must(c.Mutex(name).Lock(t.Context()))
		do(t, d, "DEL", name)
		do(t, d, "HSET", name, "somebody:1", "1")
		is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
		if got := hash(t, d, name); got != "somebody:1=1" {
			t.Errorf("the hash of the next holder is %q", got)
		}
		do(t, d, "DEL", name)
	})
}

func TestUnlockWorksWithADeadContextAndOnlyOnce(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{}), redistest.Name(t)
		ctx, cancel := context.WithCancel(t.Context())
		h := must(c.Mutex(name).Lock(ctx))
		inside := h.Context()
		cancel()
		if inside.Err() == nil {
			t.Error("the hold's context outlives its parent")
		}
		if !h.Valid() {
			t.Error("the hold ended with the context:", h.Err())
		}
		for range 2 {
			if err := h.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
		is(t, "Err", h.Err(), redlatch.ErrReleased)
		if status := must(c.Mutex(name).Status(t.Context())); status.Locked {
			t.Errorf("status is %+v", status)
		}
	})
}

func TestDetachLeavesTheLockToItsLease(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{LeaseTime: 200 * time.Millisecond}), raw(t, url), redistest.Name(t)
		ctx := c.WithOwner(t.Context())
		outer, inner := must(c.Mutex(name).Lock(ctx)), must(c.Mutex(name).Lock(ctx))
		inner.Detach()
		is(t, "Err", inner.Err(), redlatch.ErrReleased)
		if err := inner.Unlock(ctx); err != nil {
			t.Error("Unlock after Detach:", err)
		}
		if !outer.Valid() {
			t.Error("the outer hold ended:", outer.Err())
		}
		outer.Detach()
		if got := hash(t, d, name); got != outer.Owner()+"=2" {
			t.Errorf("Detach changed the hash to %q", got)
		}
		if n := c.Stats().Holds; n != 0 {
			t.Errorf("%d holds are still renewed", n)
		}
		redistest.Eventually(t, 5*time.Second, func() bool { return do(t, d, "EXISTS", name).Int == 0 }, "the lease ends")
	})
}

func TestCloseReleasesEverythingAndEndsEveryWait(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		var holds []*redlatch.Hold
		for i := range 250 {
			holds = append(holds, must(c.Mutex(fmt.Sprint(name, i)).Lock(t.Context())))
		}
		waits := make(chan error, 10)
		for range cap(waits) {
			go func() {
				_, err := c.Mutex(name + "0").Lock(t.Context())
				waits <- err
			}()
		}
		redistest.Eventually(t, 5*time.Second, func() bool { return c.Stats().Waiters == cap(waits) }, "all wait")
		for range 2 {
			if err := c.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range cap(waits) {
			is(t, "a wait on a closing client", <-waits, redlatch.ErrClosed)
		}
		for i, h := range holds {
			if do(t, d, "EXISTS", fmt.Sprint(name, i)).Int != 0 {
				t.Fatalf("lock %d is still held", i)
			}
			is(t, "Err", h.Err(), redlatch.ErrReleased)
			if err := h.Unlock(t.Context()); err != nil {
				t.Error("Unlock after Close:", err)
			}
		}
		_, err := c.Mutex(name).Lock(t.Context())
		is(t, "Lock after Close", err, redlatch.ErrClosed)
		_, err = c.Mutex(name).Status(t.Context())
		is(t, "Status after Close", err, redlatch.ErrClosed)
	})
}

func TestDoHoldsTheLockWhileItsFunctionRuns(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{}), redistest.Name(t)
		m := c.Mutex(name)
		wrong := errors.New("wrong")
		err := redlatch.Do(t.Context(), m, func(ctx context.Context, h *redlatch.Hold) error {
			if status := must(m.Status(ctx)); !status.Locked || status.Holders[0].Owner != h.Owner() {
				t.Errorf("inside, status is %+v", status)
			}
			return wrong
		})
		is(t, "Do", err, wrong)

		func() {
			defer func() {
				if recover() != "oh" {
					t.Error("the panic did not come through")
				}
			}()
			_ = redlatch.Do(t.Context(), m, func(context.Context, *redlatch.Hold) error { panic("oh") })
		}()
		if status := must(m.Status(t.Context())); status.Locked {
			t.Errorf("after a panic, status is %+v", status)
		}

		err = redlatch.Do(t.Context(), m, func(ctx context.Context, _ *redlatch.Hold) error {
			must(m.ForceUnlock(t.Context()))
			return nil
		})
		is(t, "Do that lost its lock", err, redlatch.ErrLost)
	})
}

func TestDifferentLeasesOnOneMutexDoNotMix(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		m := c.Mutex(name)
		for _, lease := range []time.Duration{time.Second, time.Hour, 0, 5 * time.Second} {
			want, opts := lease, []redlatch.LockOption{redlatch.WithLease(lease)}
			if lease == 0 {
				want, opts = 30*time.Second, nil
			}
			h := must(m.Lock(t.Context(), opts...))
			within(t, fmt.Sprint("TTL of ", lease), pttl(t, d, name), want-900*time.Millisecond, want)
			if h.Deadline().After(time.Now().Add(pttl(t, d, name))) {
				t.Errorf("with lease %v, the local deadline lies behind the expiry in Redis", lease)
			}
			_ = h.Unlock(t.Context())
		}
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
