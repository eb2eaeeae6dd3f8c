package leases_test

import (
	"context"
	"errors"
	"strings"
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
		m := check.Must(redlatch.NewMulti(stage.LocksOf(all, "job")...))
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
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx))
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
