package wholes_test

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
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// One rule for a vote: it goes on until a majority is won or impossible, and the next one
// begins when any of the members that refused may have changed.

// One server fails at once, one is near and one is far: the two that work are a majority.
func TestAVoteWaitsForAServerThatIsFar(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
		all[0].Set(stage.Refusing("ERR out of order", func(driver.Command) bool { return true }))
		_ = check.Must(q.Lock(ctx)).Unlock(ctx) // the servers that work both know the script from then on
		for _, far := range []time.Duration{60 * time.Millisecond, time.Second} {
			all[2].Slow(far)
			for range 20 {
				began := time.Now()
				h, err := q.TryLock(ctx)
				if err != nil {
					t.Fatalf("with a server %v away, after %v: %v", far, time.Since(began), err)
				}
				check.Within(t, "TryLock", time.Since(began), far, far+100*time.Millisecond)
				_ = h.Unlock(ctx)
				time.Sleep(time.Second)
			}
		}
	})
}

// A dead holder's key stands on one server: it costs that server's vote alone.
func TestLongAKeyOfADeadHolderDelaysNobody(t *testing.T) {
	t.Parallel()
	for dead := range 3 {
		for freed := range 3 {
			if dead == freed {
				continue
			}
			stage.Bubble(t, func(t *testing.T, ctx context.Context) {
				all := stage.Posts(t, 3, stage.Sure)
				check.Must(all[dead].Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
				q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
				began := time.Now()
				_ = check.Must(q.Lock(ctx)).Unlock(ctx)
				check.Within(t, "Lock with two of three free", time.Since(began), 0, 100*time.Millisecond)

				other := check.Must(all[freed].Rival(t, stage.Sure).Mutex("job").Lock(ctx))
				var unlocked time.Time
				go func() {
					time.Sleep(10*time.Minute + 700*time.Millisecond)
					unlocked = time.Now()
					_ = other.Unlock(ctx)
				}()
				h := check.Must(q.Lock(ctx))
				check.Within(t, fmt.Sprintf("the wait for %d with %d dead", freed, dead), time.Since(unlocked), 0, 300*time.Millisecond)
				_ = h.Unlock(ctx)
			})
		}
	}
}

// Whoever waits looks when the holder's time is up, wherever it stands.
func TestAVoteFollowsTheEndOfADeadHolder(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		for i, lease := range []time.Duration{time.Hour, 2500 * time.Millisecond} {
			check.Must(all[i].Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(lease)))
		}
		began := time.Now()
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx))
		check.Within(t, "the wait", time.Since(began), 2490*time.Millisecond, 3*time.Second)
		_ = h.Unlock(ctx)
	})
}

// Goal: those that wait do not keep each other out, and get the lock one after the other, soon
// after each release. Method: twelve waiters in six processes.
func TestWaitersOfAQuorumFollowOneAnother(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		for _, p := range all {
			p.Slow(time.Millisecond)
		}
		served := make(chan time.Time, 24)
		for range 6 {
			var locks []redlatch.Lock
			for _, p := range all {
				locks = append(locks, p.Rival(t, stage.Sure).Mutex("job"))
			}
			q := check.Must(redlatch.NewQuorum(locks...))
			for range 2 {
				go func() {
					for range 2 {
						h := check.Must(q.Lock(ctx))
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
		check.Within(t, "24 holds of 20 ms", time.Since(began), 480*time.Millisecond, 15*time.Second)
	})
}

// Quorums of three and of five servers wait at the same time: the one that began later is
// refused, also between two votes of the other.
func TestAQuorumThatWaitsKeepsOutOneThatCouldBeHeldBesideIt(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 5, stage.Sure)
		for _, p := range all {
			check.Must(p.Rival(t, stage.Sure).Mutex("job").Lock(ctx, redlatch.WithLease(10*time.Second)))
		}
		got := make(chan error, 2)
		for _, n := range []int{5, 3} {
			go func() {
				h, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all[:n], "job")...)).Lock(ctx, redlatch.WithWait(time.Minute))
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
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 5, stage.Sure)
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
		_ = check.Must(q.Lock(ctx)).Unlock(ctx)
		synctest.Wait()
		var others []*redlatch.Hold
		for _, p := range all[1:3] {
			others = append(others, check.Must(p.Rival(t, stage.Sure).Mutex("job").Lock(ctx)))
		}
		all[0].Set(stage.Refusing("ERR out of order", func(driver.Command) bool { return true }))
		all[3].Slow(300 * time.Millisecond)
		all[4].Slow(300 * time.Millisecond)
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
		check.Within(t, "the wait", time.Since(began), 5*time.Second, 8*time.Second)
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
	_ = check.Must(q.Lock(ctx)).Unlock(ctx) // connections and scripts are there
	check.Must(openLoosely(t, all[2].URL(), impatient(0)).Mutex(name).Lock(ctx))
	all[3].Freeze()
	all[4].Freeze()
	began := time.Now()
	_, err := q.TryLock(ctx)
	check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
	check.Within(t, "TryLock", time.Since(began), 0, 2*time.Second+fixture.Slack)
	if n := len(fixture.Locked(t, q.clients[0], name)) + len(fixture.Locked(t, q.clients[1], name)); n > 0 {
		t.Errorf("%d members are still locked", n)
	}
}
