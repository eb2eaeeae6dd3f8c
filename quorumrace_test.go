package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// dead answers nothing.
func dead(commands []driver.Command, _ sender) []driver.Reply { return failAll(commands, errCut) }

// One server errs at once, two are near and another's, two are far: the far ones are told to stop
// before they have answered, which is no failure of theirs. Lock waits for the release.
func TestServersThatWereToldToStopHaveNotFailed(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 5, sure)
		q := redlatch.NewQuorum(locksOf(all, "job")...)
		_ = must(q.Lock(ctx)).Unlock(ctx)
		synctest.Wait()
		var others []*redlatch.Hold
		for _, p := range all[1:3] {
			others = append(others, must(p.rival(t, sure).Mutex("job").Lock(ctx)))
		}
		all[0].set(refusing("ERR out of order", func(driver.Command) bool { return true }))
		all[3].slow(300 * time.Millisecond)
		all[4].slow(300 * time.Millisecond)
		go func() {
			time.Sleep(5 * time.Second)
			for _, h := range others {
				_ = h.Unlock(ctx)
			}
		}()
		began := time.Now()
		h, err := q.Lock(ctx, redlatch.WithWait(20*time.Second))
		if err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		within(t, "the wait", time.Since(began), 5*time.Second, 8*time.Second)
		_ = h.Unlock(ctx)
	})
}

// Two names that lead to one server cost one member, and hinder no other.
func TestTwoNamesOfOneServerDoNotKeepOthersFromComingBack(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 5, redlatch.Config{})
		for i, p := range all {
			p.set(aged(fmt.Sprint("run", min(i, 3)), seconds(1000)))
		}
		h := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(ctx))
		time.Sleep(time.Minute)
		for i := range 3 {
			all[i].memory.Miniredis().FlushAll()
			time.Sleep(time.Minute)
			if n := len(h.Members()); n != 4 || !h.Valid() {
				t.Errorf("%d members a minute after restart %d: %v", n, i, h.Err())
			}
		}
		_ = h.Unlock(ctx)
	})
}

// Quorums of three and of five servers wait at the same time: the one that began later is
// refused, also between two votes of the other.
func TestAQuorumThatWaitsKeepsOutOneThatCouldBeHeldBesideIt(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 5, sure)
		for _, p := range all {
			must(p.rival(t, sure).Mutex("job").Lock(ctx, redlatch.WithLease(10*time.Second)))
		}
		got := make(chan error, 2)
		for _, n := range []int{5, 3} {
			go func() {
				h, err := redlatch.NewQuorum(locksOf(all[:n], "job")...).Lock(ctx, redlatch.WithWait(time.Minute))
				if err == nil {
					time.Sleep(5 * time.Minute)
					_ = h.Unlock(ctx)
				}
				got <- err
			}()
			time.Sleep(time.Second)
		}
		var config *redlatch.ConfigError
		if err := errors.Join(<-got, <-got); !errors.As(err, &config) {
			t.Errorf("both were let in: %v, want a ConfigError", err)
		}
	})
}

// An attempt of the same owner that has not won is no reason to count young servers: another
// may have a majority that they have forgotten.
func TestAnAttemptOfTheSameOwnerDoesNotVouchForYoungServers(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 5, redlatch.Config{})
		for i, p := range all {
			p.set(aged(fmt.Sprint("run", i), seconds(1000)))
		}
		var locks []redlatch.Lock
		for _, p := range all {
			locks = append(locks, p.rival(t, redlatch.Config{}).Mutex("job"))
			ctx = p.client.WithOwner(ctx)
		}
		all[1].set(dead)
		all[2].set(dead)
		other := must(redlatch.NewQuorum(locks...).Lock(ctx, redlatch.WithLease(20*time.Second)))
		synctest.Wait()
		for i := range 2 {
			all[i].memory.Miniredis().FlushAll()
			all[i].set(aged(fmt.Sprint("again", i), seconds(1)))
		}
		all[2].set(aged("run2", seconds(1000)))
		for _, p := range all[3:] {
			p.slow(time.Second)
		}
		q := redlatch.NewQuorum(locksOf(all, "job")...)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = q.TryLock(ctx)
		}()
		time.Sleep(100 * time.Millisecond)
		if h, err := q.TryLock(ctx); err == nil {
			t.Errorf("a second holder; the first is valid: %v", other.Valid())
			_ = h.Unlock(ctx)
		}
		<-done
		_ = other.Unlock(ctx)
	})
}

// renews says that a request is a single renewal.
func renews(commands []driver.Command) bool {
	words := commands[0].Words
	return strings.HasPrefix(words[0], "EVAL") && len(words) == 9 && words[5] == ""
}

// A member is lost and restored while the confirmation of its former hold is under way. That it
// fails is no news of the new one.
func TestAConfirmationThatFailsLateIsOfTheFormerHold(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		cfg := redlatch.Config{RestartDelay: -1, LeaseTime: 3 * time.Second, CommandTimeout: 10 * time.Second}
		all := posts(t, 3, cfg)
		q := redlatch.NewQuorum(locksOf(all, "job")...)
		_ = must(q.Lock(ctx, redlatch.WithMaxHold(time.Minute))).Unlock(ctx)
		synctest.Wait()
		var delayed atomic.Bool
		all[2].set(func(commands []driver.Command, send sender) []driver.Reply {
			if renews(commands) && !delayed.Swap(true) {
				time.Sleep(2500 * time.Millisecond)
			}
			return send(commands...)
		})
		h := must(q.Lock(ctx, redlatch.WithMaxHold(time.Minute)))
		time.Sleep(500 * time.Millisecond)
		all[2].memory.Miniredis().FlushAll()
		time.Sleep(5 * time.Second)
		all[0].set(dead)
		all[0].memory.Miniredis().FlushAll()
		time.Sleep(20 * time.Second)
		if n := len(h.Members()); n != 2 || !h.Valid() {
			t.Errorf("%d members with one server dead: %v", n, h.Err())
		}
		_ = h.Unlock(ctx)
	})
}

// A member that was not confirmed is still on its way back, behind another request of its owner,
// when it is asked for again. It is asked for once, and nothing of it stays.
func TestAMemberOnItsWayBackIsAskedForOnce(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, sure)
		ctx = all[2].client.WithOwner(ctx)
		q := redlatch.NewQuorum(locksOf(all, "job")...)
		_ = must(q.Lock(ctx, redlatch.WithMaxHold(time.Hour))).Unlock(ctx)
		synctest.Wait()
		var refused atomic.Bool
		single := make(chan *redlatch.Hold, 1)
		all[2].set(func(commands []driver.Command, send sender) []driver.Reply {
			if renews(commands) && !refused.Swap(true) {
				go func() { single <- must(all[2].client.Mutex("job").Lock(ctx)) }()
				time.Sleep(10 * time.Millisecond)
				return failAll(commands, &driver.ServerError{Message: "ERR out of order"})
			}
			if refused.Load() {
				time.Sleep(200 * time.Millisecond)
			}
			return send(commands...)
		})
		h := must(q.Lock(ctx, redlatch.WithMaxHold(time.Hour)))
		time.Sleep(10 * time.Second)
		if n := len(h.Members()); n != 3 {
			t.Errorf("%d members", n)
		}
		_ = (<-single).Unlock(ctx)
		_ = h.Unlock(ctx)
		time.Sleep(time.Second)
		if all[2].memory.Miniredis().Exists("job") {
			t.Error("a hold of the member stays")
		}
	})
}
