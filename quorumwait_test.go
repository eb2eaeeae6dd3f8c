package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// One rule for a vote: it goes on until a majority is won or impossible, and the next one
// begins when any of the members that refused may have changed.

// One server fails at once, one is near and one is far: the two that work are a majority.
func TestAVoteWaitsForAServerThatIsFar(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, sure)
		q := redlatch.NewQuorum(locksOf(all, "job")...)
		_ = must(q.Lock(ctx)).Unlock(ctx)
		synctest.Wait()
		all[0].set(refusing("ERR out of order", func(driver.Command) bool { return true }))
		for _, far := range []time.Duration{60 * time.Millisecond, time.Second} {
			all[2].slow(far)
			for range 20 {
				began := time.Now()
				h, err := q.TryLock(ctx)
				if err != nil {
					t.Fatalf("with a server %v away, after %v: %v", far, time.Since(began), err)
				}
				within(t, "TryLock", time.Since(began), far, far+100*time.Millisecond)
				_ = h.Unlock(ctx)
				time.Sleep(time.Second)
			}
		}
	})
}

// A dead holder's key stands on one server: it costs that server's vote alone.
func TestAKeyOfADeadHolderDelaysNobody(t *testing.T) {
	t.Parallel()
	for dead := range 3 {
		for freed := range 3 {
			if dead == freed {
				continue
			}
			bubble(t, func(t *testing.T, ctx context.Context) {
				all := posts(t, 3, sure)
				must(all[dead].rival(t, sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
				q := redlatch.NewQuorum(locksOf(all, "job")...)
				began := time.Now()
				_ = must(q.Lock(ctx)).Unlock(ctx)
				within(t, "Lock with two of three free", time.Since(began), 0, 100*time.Millisecond)

				other := must(all[freed].rival(t, sure).Mutex("job").Lock(ctx))
				var unlocked time.Time
				go func() {
					time.Sleep(10*time.Minute + 700*time.Millisecond)
					unlocked = time.Now()
					_ = other.Unlock(ctx)
				}()
				h := must(q.Lock(ctx))
				within(t, fmt.Sprintf("the wait for %d with %d dead", freed, dead), time.Since(unlocked), 0, 300*time.Millisecond)
				_ = h.Unlock(ctx)
			})
		}
	}
}

// Whoever waits looks when the holder's time is up, wherever it stands.
func TestAVoteFollowsTheEndOfADeadHolder(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, sure)
		for i, lease := range []time.Duration{time.Hour, 2500 * time.Millisecond} {
			must(all[i].rival(t, sure).Mutex("job").Lock(ctx, redlatch.WithLease(lease)))
		}
		began := time.Now()
		h := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(ctx))
		within(t, "the wait", time.Since(began), 2490*time.Millisecond, 3*time.Second)
		_ = h.Unlock(ctx)
	})
}

// Goal: those that wait do not keep each other out, and get the lock one after the other, soon
// after each release. Method: twelve waiters in six processes.
func TestWaitersOfAQuorumFollowOneAnother(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, sure)
		for _, p := range all {
			p.slow(time.Millisecond)
		}
		served := make(chan time.Time, 24)
		for range 6 {
			var locks []redlatch.Lock
			for _, p := range all {
				locks = append(locks, p.rival(t, sure).Mutex("job"))
			}
			q := redlatch.NewQuorum(locks...)
			for range 2 {
				go func() {
					for range 2 {
						h := must(q.Lock(ctx))
						time.Sleep(20 * time.Millisecond)
						_ = h.Unlock(ctx)
						served <- time.Now()
					}
				}()
			}
		}
		began := time.Now()
		for range 24 {
			select {
			case <-served:
			case <-time.After(time.Minute):
				t.Fatal("nobody was served for a minute")
			}
		}
		t.Logf("24 holds in %v", time.Since(began))
		within(t, "24 holds of 20 ms", time.Since(began), 480*time.Millisecond, 15*time.Second)
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

// One member is another's, two are frozen: of the two that were granted no majority can
// come. That is known when one of the frozen ones has failed, and bounded by its timeout.
func TestAVoteThatCannotBeWonEndsSoon(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 5)
	cfg := impatient(20 * time.Second)
	cfg.CommandTimeout, cfg.ReleaseTimeout = time.Second, time.Second
	q := openQuorum(t, all, name, cfg)
	_ = must(q.Lock(ctx)).Unlock(ctx) // connections and scripts are there
	must(openLoosely(t, all[2].URL(), impatient(0)).Mutex(name).Lock(ctx))
	all[3].Freeze()
	all[4].Freeze()
	began := time.Now()
	_, err := q.TryLock(ctx)
	is(t, "TryLock", err, redlatch.ErrNotAcquired)
	within(t, "TryLock", time.Since(began), 0, 2*time.Second+slack)
	if n := len(locked(t, q.clients[0], name)) + len(locked(t, q.clients[1], name)); n > 0 {
		t.Errorf("%d members are still locked", n)
	}
}
