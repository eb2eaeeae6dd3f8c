package wholes_test

import (
	"context"
	"errors"
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
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// How Multis wait for their members, and for each other.

// Goal: what comes before the blocked member is not held after a wait in vain, whoever
// held it.
func TestAfterAWaitInVainNoMemberIsHeld(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		ctx, id := t.Context(), redistest.Name(t)
		names := []string{id + "a", id + "b", id + "c", id + "d"}
		client, other := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
		for _, opts := range [][]redlatch.LockOption{nil, {redlatch.WithFencing()}, {redlatch.WithLease(time.Minute)}} {
			for _, name := range names {
				rival := check.Must(other.Mutex(name).Lock(ctx))
				err := fixture.InVain(func(wait redlatch.LockOption) error {
					_, err := check.Must(redlatch.NewMulti(fixture.Mutexes(client, names...)...)).Lock(ctx, append(opts, wait)...)
					return err
				})
				check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
				if got := fixture.Locked(t, other, names...); len(got) != 1 {
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
		clients := []*redlatch.Client{fixture.Open(t, urls[0], redlatch.Config{}), fixture.Open(t, urls[1], redlatch.Config{})}
		for range 3 {
			work.Go(func() {
				for range redistest.Stretch(30) {
					picked := rand.Perm(len(all))[:1+rand.IntN(len(all))]
					var locks []redlatch.Lock
					for _, i := range picked {
						locks = append(locks, clients[all[i].server].Mutex(all[i].name))
					}
					h, err := check.Must(redlatch.NewMulti(locks...)).Lock(ctx)
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
		c := fixture.Open(t, url, redlatch.Config{})
		for _, o := range all {
			if o.server == server && len(fixture.Locked(t, c, o.name)) > 0 {
				t.Errorf("%s on server %d is locked after the end", o.name, server)
			}
		}
	}
}

// What was waited for the first member is not there for the second.
func TestTheMembersOfAMultiShareOneWait(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m, other := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b")...)), s.Other(redlatch.Config{})
		order := strings.Split(m.Name(), "+")
		first, second := check.Must(other.Mutex(order[0]).Lock(t.Context())), check.Must(other.Mutex(order[1]).Lock(t.Context()))
		go func() {
			time.Sleep(4 * time.Second)
			_ = first.Unlock(t.Context())
		}()
		began := time.Now()
		_, err := m.Lock(t.Context(), redlatch.WithWait(5*time.Second))
		check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
		check.Within(t, "the wait", time.Since(began), 5*time.Second, 5*time.Second+100*time.Millisecond)
		_ = second.Unlock(t.Context())
	})
}

// Whoever waits for a member in this process came first.
func TestAMultiStandsBehindTheWaitersOfItsProcess(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b")...))
		last := strings.Split(m.Name(), "+")[1]
		first := check.Must(s.Client.Mutex(last).Lock(t.Context()))
		order := make(chan string, 2)
		go func() {
			h := check.Must(s.Client.Mutex(last).Lock(t.Context()))
			order <- "waiter"
			_ = h.Unlock(t.Context())
		}()
		synctest.Wait()
		before := s.Driver.Scripts.Load()
		done := make(chan struct{})
		go func() {
			h := check.Must(m.Lock(t.Context()))
			order <- "multi"
			_ = h.Unlock(t.Context())
			close(done)
		}()
		synctest.Wait()
		if n := s.Driver.Scripts.Load() - before; n != 1 {
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
	const trip = 200 * time.Millisecond
	rounds := 0
	for i := range 20 { // the wait may end between a release and the next acquisition
		held := i % 2 // which of them is taken first depends on their servers
		stage.Bubble(t, func(t *testing.T, ctx context.Context) {
			all := stage.Posts(t, 2, stage.Sure)
			stranger := check.Must(all[held].Rival(t, stage.Sure).Mutex("job").Lock(ctx))
			other, free := all[1-held], time.Time{}
			other.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				time.Sleep(trip)
				before := other.Memory.Miniredis().Exists("job")
				replies := send(commands...)
				switch after := other.Memory.Miniredis().Exists("job"); {
				case before && !after:
					free = time.Now()
				case !before && after && !free.IsZero():
					rounds++
					check.Within(t, "between a release and the next acquisition", time.Since(free), 4*trip, time.Hour)
				}
				return replies
			})
			_, err := check.Must(redlatch.NewMulti(stage.LocksOf(all, "job")...)).Lock(ctx, redlatch.WithWait(time.Minute))
			check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
			_ = stranger.Unlock(ctx)
		})
	}
	if rounds < 3 {
		t.Errorf("it let go %d times: this proves nothing", rounds)
	}
}

// Two processes that know two servers by different names take them in different orders.
func TestMultisInDifferentOrdersDoNotWaitForEverForEachOther(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, stage.Sure)
		for _, p := range all {
			p.Slow(10 * time.Millisecond)
		}
		one := check.Must(redlatch.NewMulti(stage.LocksOf(all, "job")...))
		two := check.Must(redlatch.NewMulti(all[1].Rival(t, stage.Sure).Mutex("job"), all[0].Rival(t, stage.Sure).Mutex("job")))
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
		check.Within(t, "both", time.Since(began), 0, 30*time.Second)
	})
}

// Goal: a wait that ends is ErrNotAcquired, also shortly after a member was lost. Method: waits that end while the others are
// released, in the pause behind that, or later, when a request may have no answer yet.
func TestAWaitThatEndsBehindALostMemberIsInVain(t *testing.T) {
	t.Parallel()
	for wait := 10500 * time.Millisecond; wait < 12*time.Second; wait += 100 * time.Millisecond {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			tap, ctx := s.Tap(), context.Background()
			m := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...))
			order := strings.Split(m.Name(), "+")
			held := check.Must(s.Stranger().Mutex(order[2]).Lock(ctx))
			tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				time.Sleep(200 * time.Millisecond)
				return send(commands...)
			})
			go func() {
				time.Sleep(5 * time.Second)
				s.Memory.Miniredis().Del(order[0]) // the next renewal finds that
			}()
			_, err := m.Lock(ctx, redlatch.WithWait(wait))
			if unknown := errors.Is(err, redlatch.ErrUnknownOutcome); !unknown && !errors.Is(err, redlatch.ErrNotAcquired) || errors.Is(err, redlatch.ErrLost) {
				t.Errorf("after %v nothing is held, and Lock says: %v", wait, err)
			}
			tap.Set(nil)
			check.Is(t, "Unlock", held.Unlock(ctx), nil)
		})
	}
}
