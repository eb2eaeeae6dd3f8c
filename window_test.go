package redlatch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// What arrives in the moment in which it is of no use any more is released.

// delays makes the reply to the next script come after a pause. Whether somebody still waits
// for it does not matter.
func delays(pause time.Duration) around {
	var spent atomic.Bool
	return func(commands []driver.Command, send sender) []driver.Reply {
		replies := send(commands...)
		if changing(commands[0]) && !spent.Swap(true) {
			time.Sleep(pause)
		}
		return replies
	}
}

// The reply to a re-entry comes when the outer hold has ended. The owner holds nothing then, and
// what the request prolonged does not stay for its lease.
func TestAReentryThatComesTooLateIsReleased(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		net, ctx := s.tap(), s.client.WithOwner(s.limited())
		l := k.lock(s.client, "job")
		outer := must(l.Lock(ctx, redlatch.WithLease(time.Second)))
		net.set(delays(1500 * time.Millisecond))
		_, err := l.Lock(ctx, redlatch.WithLease(time.Minute))
		is(t, "the inner Lock", err, redlatch.ErrLost)
		is(t, "the outer hold", outer.Err(), redlatch.ErrLost)
		synctest.Wait()
		if s.memory.Miniredis().Exists("job") {
			t.Errorf("nobody holds the lock, and it stays for %v", s.ttl("job"))
		}
	})
}

// A grant whose lease has passed when its reply comes is no hold.
func TestAGrantThatComesTooLateIsNoHold(t *testing.T) {
	each(t, kindsOfHolds, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		s.tap().set(delays(1500 * time.Millisecond))
		h, err := k.lock(s.client, "job").TryLock(s.limited(), redlatch.WithLease(time.Second))
		if err == nil {
			t.Fatalf("it is a hold, valid: %v", h.Valid())
		}
		synctest.Wait()
		if st := s.client.Stats(); st.Losses != 0 || st.Holds != 0 {
			t.Errorf("TryLock is %v, and the client has %+v", err, st)
		}
	})
}

// The release is carried out, and the request behind it, for the next waiter of the process, is
// refused. That waiter asks at once: no message wakes it, and nothing else for an hour.
func TestAWaiterWhoseHandOverFailsAsksAtOnce(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage) {
		s.teach(lockKinds[0])
		net := s.tap()
		net.deaf.Store(true)
		m, ctx := s.client.Mutex("job"), s.limited()
		h := must(m.Lock(ctx))
		got := make(chan *redlatch.Hold, 1)
		go func() { got <- must(m.Lock(ctx)) }()
		synctest.Wait()
		time.Sleep(time.Second)
		var handedOver atomic.Bool
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			if len(commands) != 3 || handedOver.Swap(true) {
				return send(commands...)
			}
			return append(send(commands[:2]...), driver.Reply{Err: &driver.ServerError{Message: "OOM command not allowed"}})
		})
		released := time.Now()
		if err := h.Unlock(ctx); err != nil {
			t.Error("Unlock:", err)
		}
		next := <-got
		within(t, "the wait of the next", time.Since(released), 0, 10*time.Millisecond)
		if !handedOver.Load() {
			t.Error("nothing was handed over")
		}
		_ = next.Unlock(ctx)
	})
}

// A downgrade lets readers of the same process in at once. No message tells them.
func TestADowngradeLetsReadersOfItsProcessInWithoutAMessage(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage) {
		s.tap().deaf.Store(true)
		m, ctx := s.client.RWMutex("job"), s.client.WithOwner(s.limited())
		w, r := must(m.Lock(ctx)), must(m.RLock(ctx))
		entered := make(chan *redlatch.Hold, 1)
		go func() { entered <- must(m.RLock(s.limited())) }()
		synctest.Wait()
		time.Sleep(time.Second)
		began := time.Now()
		_ = w.Unlock(ctx)
		other := <-entered
		within(t, "the wait of the reader", time.Since(began), 0, 10*time.Millisecond)
		_ = other.Unlock(ctx)
		_ = r.Unlock(ctx)
	})
}

// A member of a Multi is lost while the reply about the next one is on its way. That one is
// released, too.
func TestAMemberThatIsGrantedAfterTheEndOfItsMultiIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 2, redlatch.Config{LeaseTime: 3 * time.Second, RestartDelay: -1})
		m := redlatch.NewMulti(locksOf(all, "job")...)
		_ = must(m.Lock(ctx)).Unlock(ctx)
		all[1].set(delays(2 * time.Second))
		go func() {
			time.Sleep(500 * time.Millisecond)
			all[0].memory.Miniredis().Del("job")
		}()
		_, err := m.TryLock(ctx)
		is(t, "TryLock", err, redlatch.ErrLost)
		synctest.Wait()
		if all[1].memory.Miniredis().Exists("job") {
			t.Error("the second member stays")
		}
	})
}

// The last server of a quorum tells its age when the quorum has been released. What it granted
// before is released, and not renewed.
func TestAMemberThatIsGrantedAfterTheEndOfItsQuorumIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, redlatch.Config{})
		for i, p := range all {
			tells := aged(strings.Repeat("r", i+1), seconds(3600))
			p.set(func(commands []driver.Command, send sender) []driver.Reply {
				if i == 2 && commands[0].Words[0] == "INFO" {
					time.Sleep(time.Second)
				}
				return tells(commands, send)
			})
		}
		h := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(ctx))
		synctest.Wait()
		if !all[2].memory.Miniredis().Exists("job") {
			t.Fatal("the last member was not granted")
		}
		if err := h.Unlock(ctx); err != nil {
			t.Error("Unlock:", err)
		}
		time.Sleep(2 * time.Second)
		for i, p := range all {
			if p.memory.Miniredis().Exists("job") {
				t.Errorf("server %d has the lock, and its client %+v", i, p.client.Stats())
			}
		}
	})
}

// Renewals that have no answer are sent again together: a server that cannot be reached is not
// asked for each lock by itself.
func TestRenewalsWithoutAnAnswerStayTogether(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		net, ctx := s.tap(), s.limited()
		for _, name := range []string{"a", "b", "c"} {
			defer must(s.client.Mutex(name).Lock(ctx)).Unlock(ctx)
		}
		time.Sleep(11 * time.Second) // the script is known
		var alone, together atomic.Int64
		net.set(func(commands []driver.Command, _ sender) []driver.Reply {
			if len(commands) == 1 && commands[0].Words[2] == "3" {
				together.Add(1)
			} else {
				alone.Add(1)
			}
			return failAll(commands, errors.Join(driver.ErrNotSent, errCut))
		})
		time.Sleep(15 * time.Second)
		net.set(nil)
		if alone.Load() > 0 || together.Load() < 2 {
			t.Errorf("%d requests for all locks, %d for fewer", together.Load(), alone.Load())
		}
		time.Sleep(10 * time.Second)
		if st := s.client.Stats(); st.Holds != 3 {
			t.Errorf("after the outage %d of 3 are held", st.Holds)
		}
	})
}

// Who comes later stands behind those of its process who wait, and does not ask: the lock may be
// free for a moment that is theirs.
func TestWhoComesLaterDoesNotAskBeforeThoseWhoWait(t *testing.T) {
	eachWay(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage, k lockKind) {
		if k.of == "fair" {
			return // the queue in Redis decides
		}
		ctx := s.limited()
		held := must(k.rival(s.stranger(), "job").Lock(ctx))
		var all sync.WaitGroup
		first := make(chan *redlatch.Hold, 1)
		all.Go(func() { first <- must(k.lock(s.client, "job").Lock(ctx)) })
		synctest.Wait()
		time.Sleep(time.Second)
		before := s.driver.scripts.Load()
		all.Go(func() { _ = must(k.lock(s.client, "job").Lock(ctx)).Unlock(ctx) })
		time.Sleep(time.Second)
		if n := s.driver.scripts.Load() - before; n != 0 {
			t.Errorf("who came later asked %d times", n)
		}
		_ = held.Unlock(ctx)
		_ = (<-first).Unlock(ctx)
		all.Wait()
	})
}

// A release asks for the next waiter of its process, and that waiter leaves before the reply. What
// was granted to it is released.
func TestAHandOverToAWaiterThatHasLeftIsReleased(t *testing.T) {
	each(t, kindsOfHolds, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		if k.of == "fair" || k.of == "read" {
			return // neither is handed over
		}
		net := s.tap()
		h := must(k.lock(s.client, "job").Lock(s.limited()))
		waiting, leave := context.WithCancel(s.limited())
		got := make(chan error, 1)
		go func() {
			_, err := k.lock(s.client, "job").Lock(waiting)
			got <- err
		}()
		synctest.Wait()
		var handedOver atomic.Bool
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			replies := send(commands...)
			if len(commands) > 1 && changing(commands[len(commands)-1]) {
				handedOver.Store(true)
				leave()
				time.Sleep(time.Millisecond)
			}
			return replies
		})
		_ = h.Unlock(s.limited())
		if err := <-got; err == nil || !handedOver.Load() {
			t.Errorf("Lock is %v, handed over: %v", err, handedOver.Load())
		}
		time.Sleep(time.Second)
		if st := s.client.Stats(); s.taken(k) || st.Holds != 0 {
			t.Errorf("the lock stays, and the client has %+v", st)
		}
	})
}

// The release of the write side is lost, and the owner reads on. The next renewal tells Redis, and
// other readers enter.
func TestARenewalMakesUpForALostDowngrade(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, ctx := s.client.RWMutex("job"), s.client.WithOwner(s.limited())
		w, r := must(m.Lock(ctx)), must(m.RLock(ctx))
		s.driver.spoil(func([]string) fate { return isLost })
		is(t, "Unlock", w.Unlock(ctx), redlatch.ErrUnknownOutcome)
		s.driver.spoil(nil)
		time.Sleep(11 * time.Second)
		other, err := s.stranger().RWMutex("job").TryRLock(s.limited())
		if err != nil || !r.Valid() {
			t.Fatalf("after a renewal another reader is told %v, and the owner reads: %v", err, r.Valid())
		}
		_ = other.Unlock(ctx)
		_ = r.Unlock(ctx)
	})
}
