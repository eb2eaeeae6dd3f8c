package leases_test

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
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What arrives in the moment in which it is of no use any more is released.

// delays makes the reply to the next script come after a pause. Whether somebody still waits
// for it does not matter.
func delays(pause time.Duration) stage.Around {
	var spent atomic.Bool
	return func(commands []driver.Command, send stage.Sender) []driver.Reply {
		replies := send(commands...)
		if stage.Changing(commands[0]) && !spent.Swap(true) {
			time.Sleep(pause)
		}
		return replies
	}
}

// The reply to a re-entry comes when the outer hold has ended. The owner holds nothing then, and
// what the request prolonged does not stay for its lease.
func TestAReentryThatComesTooLateIsReleased(t *testing.T) {
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		net, ctx := s.Tap(), s.Client.WithOwner(s.Limited())
		l := k.Lock(s.Client, "job")
		outer := check.Must(l.Lock(ctx, redlatch.WithLease(time.Second)))
		net.Set(delays(1500 * time.Millisecond))
		_, err := l.Lock(ctx, redlatch.WithLease(time.Minute))
		check.Is(t, "the inner Lock", err, redlatch.ErrLost)
		check.Is(t, "the outer hold", outer.Err(), redlatch.ErrLost)
		synctest.Wait()
		if s.Memory.Miniredis().Exists("job") {
			t.Errorf("nobody holds the lock, and it stays for %v", s.TTL("job"))
		}
	})
}

// A grant whose lease has passed when its reply comes is no hold.
func TestAGrantThatComesTooLateIsNoHold(t *testing.T) {
	stage.Each(t, stage.HoldKinds, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		s.Tap().Set(delays(1500 * time.Millisecond))
		h, err := k.Lock(s.Client, "job").TryLock(s.Limited(), redlatch.WithLease(time.Second))
		if err == nil {
			t.Fatalf("it is a hold, valid: %v", h.Valid())
		}
		synctest.Wait()
		if st := s.Client.Stats(); st.Losses != 0 || st.Holds != 0 {
			t.Errorf("TryLock is %v, and the client has %+v", err, st)
		}
	})
}

// The release is carried out, and the request behind it, for the next waiter of the process, is
// refused. That waiter asks at once: no message wakes it, and nothing else for an hour.
func TestAWaiterWhoseHandOverFailsAsksAtOnce(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
		s.Teach(stage.LockKinds[0])
		net := s.Tap()
		net.Deaf.Store(true)
		m, ctx := s.Client.Mutex("job"), s.Limited()
		h := check.Must(m.Lock(ctx))
		got := make(chan *redlatch.Hold, 1)
		go func() { got <- check.Must(m.Lock(ctx)) }()
		synctest.Wait()
		time.Sleep(time.Second)
		var handedOver atomic.Bool
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
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
		check.Within(t, "the wait of the next", time.Since(released), 0, 10*time.Millisecond)
		if !handedOver.Load() {
			t.Error("nothing was handed over")
		}
		_ = next.Unlock(ctx)
	})
}

// A downgrade lets readers of the same process in at once. No message tells them.
func TestADowngradeLetsReadersOfItsProcessInWithoutAMessage(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
		s.Tap().Deaf.Store(true)
		m, ctx := s.Client.RWMutex("job"), s.Client.WithOwner(s.Limited())
		w, r := check.Must(m.Lock(ctx)), check.Must(m.RLock(ctx))
		entered := make(chan *redlatch.Hold, 1)
		go func() { entered <- check.Must(m.RLock(s.Limited())) }()
		synctest.Wait()
		time.Sleep(time.Second)
		began := time.Now()
		_ = w.Unlock(ctx)
		other := <-entered
		check.Within(t, "the wait of the reader", time.Since(began), 0, 10*time.Millisecond)
		_ = other.Unlock(ctx)
		_ = r.Unlock(ctx)
	})
}

// A member of a Multi is lost while the reply about the next one is on its way. That one is
// released, too.
func TestAMemberThatIsGrantedAfterTheEndOfItsMultiIsReleased(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, redlatch.Config{LeaseTime: 3 * time.Second, RestartDelay: -1})
		m := redlatch.NewMulti(stage.LocksOf(all, "job")...)
		_ = check.Must(m.Lock(ctx)).Unlock(ctx)
		all[1].Set(delays(2 * time.Second))
		go func() {
			time.Sleep(500 * time.Millisecond)
			all[0].Memory.Miniredis().Del("job")
		}()
		_, err := m.TryLock(ctx)
		check.Is(t, "TryLock", err, redlatch.ErrLost)
		synctest.Wait()
		if all[1].Memory.Miniredis().Exists("job") {
			t.Error("the second member stays")
		}
	})
}

// The last server of a quorum tells its age when the quorum has been released. What it granted
// before is released, and not renewed.
func TestAMemberThatIsGrantedAfterTheEndOfItsQuorumIsReleased(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, redlatch.Config{})
		for i, p := range all {
			tells := stage.Aged(strings.Repeat("r", i+1), stage.Seconds(3600))
			p.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				if i == 2 && commands[0].Words[0] == "INFO" {
					time.Sleep(time.Second)
				}
				return tells(commands, send)
			})
		}
		h := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...).Lock(ctx))
		synctest.Wait()
		if !all[2].Memory.Miniredis().Exists("job") {
			t.Fatal("the last member was not granted")
		}
		if err := h.Unlock(ctx); err != nil {
			t.Error("Unlock:", err)
		}
		time.Sleep(2 * time.Second)
		for i, p := range all {
			if p.Memory.Miniredis().Exists("job") {
				t.Errorf("server %d has the lock, and its client %+v", i, p.Client.Stats())
			}
		}
	})
}

// Renewals that have no answer are sent again together: a server that cannot be reached is not
// asked for each lock by itself.
func TestRenewalsWithoutAnAnswerStayTogether(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net, ctx := s.Tap(), s.Limited()
		for _, name := range []string{"a", "b", "c"} {
			defer check.Must(s.Client.Mutex(name).Lock(ctx)).Unlock(ctx)
		}
		time.Sleep(11 * time.Second) // the script is known
		var alone, together atomic.Int64
		net.Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
			if len(commands) == 1 && commands[0].Words[2] == "3" {
				together.Add(1)
			} else {
				alone.Add(1)
			}
			return stage.FailAll(commands, errors.Join(driver.ErrNotSent, stage.ErrCut))
		})
		time.Sleep(15 * time.Second)
		net.Set(nil)
		if alone.Load() > 0 || together.Load() < 2 {
			t.Errorf("%d requests for all locks, %d for fewer", together.Load(), alone.Load())
		}
		time.Sleep(10 * time.Second)
		if st := s.Client.Stats(); st.Holds != 3 {
			t.Errorf("after the outage %d of 3 are held", st.Holds)
		}
	})
}

// Who comes later stands behind those of its process who wait, and does not ask: the lock may be
// free for a moment that is theirs.
func TestWhoComesLaterDoesNotAskBeforeThoseWhoWait(t *testing.T) {
	stage.EachWay(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		if k.Of == "fair" {
			return // the queue in Redis decides
		}
		ctx := s.Limited()
		held := check.Must(k.Rival(s.Stranger(), "job").Lock(ctx))
		var all sync.WaitGroup
		first := make(chan *redlatch.Hold, 1)
		all.Go(func() { first <- check.Must(k.Lock(s.Client, "job").Lock(ctx)) })
		synctest.Wait()
		time.Sleep(time.Second)
		before := s.Driver.Scripts.Load()
		all.Go(func() { _ = check.Must(k.Lock(s.Client, "job").Lock(ctx)).Unlock(ctx) })
		time.Sleep(time.Second)
		if n := s.Driver.Scripts.Load() - before; n != 0 {
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
	stage.Each(t, stage.HoldKinds, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		if k.Of == "fair" || k.Of == "read" {
			return // neither is handed over
		}
		net := s.Tap()
		h := check.Must(k.Lock(s.Client, "job").Lock(s.Limited()))
		waiting, leave := context.WithCancel(s.Limited())
		got := make(chan error, 1)
		go func() {
			_, err := k.Lock(s.Client, "job").Lock(waiting)
			got <- err
		}()
		synctest.Wait()
		var handedOver atomic.Bool
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			replies := send(commands...)
			if len(commands) > 1 && stage.Changing(commands[len(commands)-1]) {
				handedOver.Store(true)
				leave()
				time.Sleep(time.Millisecond)
			}
			return replies
		})
		_ = h.Unlock(s.Limited())
		if err := <-got; err == nil || !handedOver.Load() {
			t.Errorf("Lock is %v, handed over: %v", err, handedOver.Load())
		}
		time.Sleep(time.Second)
		if st := s.Client.Stats(); s.Taken(k) || st.Holds != 0 {
			t.Errorf("the lock stays, and the client has %+v", st)
		}
	})
}

// The release of the write side is lost, and the owner reads on. The next renewal tells Redis, and
// other readers enter.
func TestARenewalMakesUpForALostDowngrade(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m, ctx := s.Client.RWMutex("job"), s.Client.WithOwner(s.Limited())
		w, r := check.Must(m.Lock(ctx)), check.Must(m.RLock(ctx))
		s.Driver.Spoil(func([]string) stage.Fate { return stage.Lost })
		check.Is(t, "Unlock", w.Unlock(ctx), redlatch.ErrUnknownOutcome)
		s.Driver.Spoil(nil)
		time.Sleep(11 * time.Second)
		other, err := s.Stranger().RWMutex("job").TryRLock(s.Limited())
		if err != nil || !r.Valid() {
			t.Fatalf("after a renewal another reader is told %v, and the owner reads: %v", err, r.Valid())
		}
		_ = other.Unlock(ctx)
		_ = r.Unlock(ctx)
	})
}
