package redlatch_test

import (
	"context"
	"math/rand/v2"
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

// How Multis wait for their members, and for each other.

func TestAMultiWaitsForItsMembersWithOneDeadlineForAll(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		ctx, id := t.Context(), redistest.Name(t)
		names := []string{id + "a", id + "b", id + "c"}
		client, other := open(t, url, redlatch.Config{}), open(t, url, redlatch.Config{})
		m := redlatch.NewMulti(mutexes(client, names...)...)
		rivals := must(redlatch.NewMulti(mutexes(other, names...)...).Lock(ctx))

		began := time.Now()
		_, err := m.Lock(ctx, redlatch.WithWait(150*time.Millisecond))
		is(t, "Lock with a bounded wait", err, redlatch.ErrNotAcquired)
		within(t, "the wait", time.Since(began), 140*time.Millisecond, 300*time.Millisecond+slack)

		limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err = m.Lock(limited)
		is(t, "Lock with a deadline", err, redlatch.ErrNotAcquired, context.DeadlineExceeded)

		got := make(chan *redlatch.Hold)
		go func() { got <- must(m.Lock(ctx)) }()
		redistest.Eventually(t, 5*time.Second, func() bool { return client.Stats().Waiters == 1 }, "it waits")
		_ = rivals.Unlock(ctx)
		h := <-got
		if n := len(locked(t, other, names...)); n != 3 {
			t.Errorf("%d of three are locked", n)
		}
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Goal: what comes before the blocked member is not held after a wait in vain, whoever
// held it.
func TestAfterAWaitInVainNoMemberIsHeld(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		ctx, id := t.Context(), redistest.Name(t)
		names := []string{id + "a", id + "b", id + "c", id + "d"}
		client, other := open(t, url, redlatch.Config{}), open(t, url, redlatch.Config{})
		for _, opts := range [][]redlatch.LockOption{nil, {redlatch.WithFencing()}, {redlatch.WithLease(time.Minute)}} {
			for _, name := range names {
				rival := must(other.Mutex(name).Lock(ctx))
				_, err := redlatch.NewMulti(mutexes(client, names...)...).Lock(ctx, append(opts, redlatch.WithWait(20*time.Millisecond))...)
				is(t, "Lock", err, redlatch.ErrNotAcquired)
				if got := locked(t, other, names...); len(got) != 1 {
					t.Errorf("%v are locked, want only %s", got, name)
				}
				if n := client.Stats().Holds; n != 0 {
					t.Errorf("the client still keeps %d holds", n)
				}
				_ = rival.Unlock(ctx)
			}
		}
	})
}

// Goal: Multis over overlapping members never wait for each other, and exclude each other.
// Method: four clients of two servers, which also know some members by themselves, and a
// counter for each member that only its holder may touch; the race detector watches.
func TestMultisNeverWaitForEachOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	id := redistest.Name(t)
	urls := []string{redistest.Shared(t).URL(), redistest.Start(t).URL()}
	var work sync.WaitGroup
	type one struct {
		server  int
		name    string
		counter int          // of the holders, by each of them
		holders atomic.Int64 // of those that hold for certain
	}
	all := []*one{{server: 0, name: id + "a"}, {server: 0, name: id + "b"}, {server: 0, name: id + "c"}, {server: 1, name: id + "a"}, {server: 1, name: id + "d"}}
	for range 4 {
		clients := []*redlatch.Client{open(t, urls[0], redlatch.Config{}), open(t, urls[1], redlatch.Config{})}
		for range 3 {
			work.Go(func() {
				for range redistest.Stretch(60) {
					picked := rand.Perm(len(all))[:1+rand.IntN(len(all))]
					var locks []redlatch.Lock
					for _, i := range picked {
						locks = append(locks, clients[all[i].server].Mutex(all[i].name))
					}
					h, err := redlatch.NewMulti(locks...).Lock(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					for _, i := range picked {
						all[i].counter++
						all[i].holders.Add(1)
					}
					if err := h.Unlock(ctx); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	work.Wait()
	for _, o := range all {
		if o.counter != int(o.holders.Load()) {
			t.Errorf("%s on server %d was counted up to %d by %d holders", o.name, o.server, o.counter, o.holders.Load())
		}
	}
	for server, url := range urls {
		c := open(t, url, redlatch.Config{})
		for _, o := range all {
			if o.server == server && len(locked(t, c, o.name)) > 0 {
				t.Errorf("%s on server %d is locked after the end", o.name, server)
			}
		}
	}
}

// What was waited for the first member is not there for the second.
func TestTheMembersOfAMultiShareOneWait(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, other := redlatch.NewMulti(mutexes(s.client, "a", "b")...), s.other(redlatch.Config{})
		order := strings.Split(m.Name(), "+")
		first, second := must(other.Mutex(order[0]).Lock(t.Context())), must(other.Mutex(order[1]).Lock(t.Context()))
		go func() {
			time.Sleep(4 * time.Second)
			_ = first.Unlock(t.Context())
		}()
		began := time.Now()
		_, err := m.Lock(t.Context(), redlatch.WithWait(5*time.Second))
		is(t, "Lock", err, redlatch.ErrNotAcquired)
		within(t, "the wait", time.Since(began), 5*time.Second, 5*time.Second+100*time.Millisecond)
		_ = second.Unlock(t.Context())
	})
}

// Whoever waits for a member in this process came first.
func TestAMultiStandsBehindTheWaitersOfItsProcess(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := redlatch.NewMulti(mutexes(s.client, "a", "b")...)
		last := strings.Split(m.Name(), "+")[1]
		first := must(s.client.Mutex(last).Lock(t.Context()))
		order := make(chan string, 2)
		go func() {
			h := must(s.client.Mutex(last).Lock(t.Context()))
			order <- "waiter"
			_ = h.Unlock(t.Context())
		}()
		synctest.Wait()
		before := s.driver.scripts.Load()
		done := make(chan struct{})
		go func() {
			h := must(m.Lock(t.Context()))
			order <- "multi"
			_ = h.Unlock(t.Context())
			close(done)
		}()
		synctest.Wait()
		if n := s.driver.scripts.Load() - before; n != 1 {
			t.Errorf("the Multi sent %d scripts before its turn, want one for the member that is free", n)
		}
		_ = first.Unlock(t.Context())
		<-done
		if a, b := <-order, <-order; a != "waiter" || b != "multi" {
			t.Errorf("served %s, then %s", a, b)
		}
	})
}

// Goal: a Multi that has let go of its members leaves others the time to come. Method: one member is
// held by a stranger all the time. The other is free for longer than a message and a request take.
func TestAMultiThatLetsGoLeavesTimeForOthers(t *testing.T) {
	const trip = 10 * time.Millisecond
	rounds := 0
	for held := range 2 { // which of them is taken first depends on their servers
		bubble(t, func(t *testing.T, ctx context.Context) {
			all := posts(t, 2, sure)
			stranger := must(all[held].rival(t, sure).Mutex("job").Lock(ctx))
			other, free := all[1-held], time.Time{}
			other.set(func(commands []driver.Command, send sender) []driver.Reply {
				time.Sleep(trip)
				before := other.memory.Miniredis().Exists("job")
				replies := send(commands...)
				switch after := other.memory.Miniredis().Exists("job"); {
				case before && !after:
					free = time.Now()
				case !before && after && !free.IsZero():
					rounds++
					within(t, "between a release and the next acquisition", time.Since(free), 4*trip, time.Hour)
				}
				return replies
			})
			_, err := redlatch.NewMulti(locksOf(all, "job")...).Lock(ctx, redlatch.WithWait(time.Minute))
			is(t, "Lock", err, redlatch.ErrNotAcquired)
			_ = stranger.Unlock(ctx)
		})
	}
	if rounds < 3 {
		t.Errorf("it let go %d times: this proves nothing", rounds)
	}
}

// Two processes that know two servers by different names take them in different orders.
func TestMultisInDifferentOrdersDoNotWaitForEverForEachOther(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 2, sure)
		for _, p := range all {
			p.slow(10 * time.Millisecond)
		}
		one := redlatch.NewMulti(locksOf(all, "job")...)
		two := redlatch.NewMulti(all[1].rival(t, sure).Mutex("job"), all[0].rival(t, sure).Mutex("job"))
		done := make(chan struct{}, 2)
		for _, m := range []*redlatch.Multi{one, two} {
			go func() {
				h, err := m.Lock(ctx, redlatch.WithWait(10*time.Minute))
				if err != nil {
					t.Error(err)
				} else {
					_ = h.Unlock(ctx)
				}
				done <- struct{}{}
			}()
		}
		began := time.Now()
		<-done
		<-done
		within(t, "both", time.Since(began), 0, 30*time.Second)
	})
}
