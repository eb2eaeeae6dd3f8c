package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// aged answers INFO as a server does that says how long it has been up.
func aged(run string, uptime func() time.Duration) around {
	return func(commands []driver.Command, send sender) []driver.Reply {
		if commands[0].Words[0] != "INFO" {
			return send(commands...)
		}
		info := fmt.Sprintf("# Server\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n", run, uptime()/time.Second)
		return []driver.Reply{{Str: info}}
	}
}

func seconds(n int) func() time.Duration {
	return func() time.Duration { return time.Duration(n) * time.Second }
}

// The owner of a quorum re-enters it although one server is young and one is dead: its own
// hold is what a forgetful server could have forgotten.
func TestAnOwnerReentersWithOneServerYoungAndOneDead(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, redlatch.Config{})
		for i, p := range all {
			p.set(aged(fmt.Sprint("run", i), seconds(1000)))
			ctx = p.client.WithOwner(ctx)
		}
		q := redlatch.NewQuorum(locksOf(all, "job")...)
		outer := must(q.Lock(ctx))
		synctest.Wait()
		all[1].memory.Miniredis().FlushAll()
		began := time.Now()
		all[1].set(aged("another", func() time.Duration { return time.Since(began) }))
		time.Sleep(15 * time.Second)
		all[2].set(func(commands []driver.Command, _ sender) []driver.Reply { return failAll(commands, errCut) })
		inner, err := q.TryLock(ctx)
		if err != nil {
			t.Fatal("re-entry:", err)
		}
		_ = inner.Unlock(ctx)
		if !outer.Valid() {
			t.Error("the outer hold has ended:", outer.Err())
		}
		_, err = redlatch.NewQuorum(all[0].rival(t, redlatch.Config{}).Mutex("job"), all[1].rival(t, redlatch.Config{}).Mutex("job"),
			all[2].rival(t, redlatch.Config{}).Mutex("job")).TryLock(ctx)
		if err == nil {
			t.Error("another got it as well")
		}
		_ = outer.Unlock(ctx)
	})
}

// A member that is still on its way back from its last holder joins soon.
func TestAMemberThatIsOnItsWayBackJoinsSoon(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, sure)
		other := must(all[2].rival(t, sure).Mutex("job").Lock(ctx))
		h := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(ctx))
		_ = other.Unlock(ctx)
		time.Sleep(500 * time.Millisecond)
		if n := len(h.Members()); n != 3 {
			t.Errorf("%d members half a second later", n)
		}
		_ = h.Unlock(ctx)
	})
}

// A clock that was ahead by an hour when the server started makes its uptime negative.
func TestAClockThatWasAheadDelaysAQuorumForOneLeaseAtMost(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, redlatch.Config{})
		began := time.Now()
		for i, p := range all {
			p.set(aged(fmt.Sprint("run", i), func() time.Duration { return time.Since(began) - time.Hour }))
		}
		h := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(ctx))
		within(t, "the wait", time.Since(began), 30*time.Second, 36*time.Second)
		_ = h.Unlock(ctx)
	})
}

// Two names of one server are seen by its run_id, where it is asked.
func TestOneServerUnderTwoNamesIsNoMajority(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, redlatch.Config{})
		for i, p := range all {
			p.set(aged(fmt.Sprint("run", max(i, 1)), seconds(1000)))
		}
		q := redlatch.NewQuorum(locksOf(all, "job")...)
		h, err := q.Lock(ctx)
		synctest.Wait()
		if err == nil {
			if n := len(h.Members()); n != 2 {
				t.Errorf("%d members on two servers", n)
			}
			time.Sleep(time.Hour)
			if n := len(h.Members()); n != 2 || !h.Valid() {
				t.Errorf("%d members an hour later, %v", n, h.Err())
			}
			_ = h.Unlock(ctx)
			_, err = q.Lock(ctx)
		}
		var config *redlatch.ConfigError
		if !errors.As(err, &config) || !strings.Contains(err.Error(), "one server") {
			t.Errorf("Lock is %v, want a ConfigError", err)
		}
		synctest.Wait()
		for i, p := range all {
			if p.memory.Miniredis().Exists("job") {
				t.Errorf("member %d is locked", i)
			}
		}
	})
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

// Goal: a server is known by host and port. Method: ways to write one server's URL.
func TestOneServerByHostAndPortIsOne(t *testing.T) {
	t.Parallel()
	url, ctx := redistest.Start(t).URL(), t.Context()
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "redis://"), ":")
	first := open(t, "redis://LOCALHOST:"+port, sure)
	for _, other := range []string{"redis://localhost:" + port + "/0", "redis://localhost:" + port + "/1", "redis://Localhost:" + port + "/2"} {
		second := open(t, other, sure)
		_, err := redlatch.NewQuorum(first.Mutex("a"), second.Mutex("a"), open(t, "memory://", sure).Mutex("a")).TryLock(ctx)
		var config *redlatch.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("%s as a second member of a quorum: %v", other, err)
		}
		_, err = redlatch.NewMulti(first.Mutex("a"), second.Mutex("a")).TryLock(ctx, redlatch.WithLease(10*time.Millisecond))
		if same := strings.HasSuffix(other, "/0"); same != errors.As(err, &config) {
			t.Errorf("%s as a second member of a multi: %v", other, err)
		}
	}
}
