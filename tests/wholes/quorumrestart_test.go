package wholes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What a quorum makes of servers that have been restarted, or that are one server.

// The owner of a quorum re-enters it although one server has restarted and one is dead: its own
// hold is what a forgetful server could have forgotten.
func TestAnOwnerReentersWithOneServerYoungAndOneDead(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all, ctx := aged(t, ctx)
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
		outer := check.Must(q.Lock(ctx))
		synctest.Wait()
		all[1].Memory.Miniredis().FlushAll()
		began := time.Now()
		all[1].Set(stage.Aged("another", func() time.Duration { return time.Since(began) }))
		time.Sleep(15 * time.Second)
		all[2].Set(stage.Dead)
		inner, err := q.TryLock(ctx)
		if err != nil {
			t.Fatal("re-entry:", err)
		}
		_ = inner.Unlock(ctx)
		if !outer.Valid() {
			t.Error("the outer hold has ended:", outer.Err())
		}
		_, err = check.Must(redlatch.NewQuorum(all[0].Rival(t, redlatch.Config{}).Mutex("job"), all[1].Rival(t, redlatch.Config{}).Mutex("job"),
			all[2].Rival(t, redlatch.Config{}).Mutex("job"))).TryLock(ctx)
		if err == nil {
			t.Error("another got it as well")
		}
		_ = outer.Unlock(ctx)
	})
}

// An attempt of the same owner that has not won is no reason to count restarted servers: another
// may have a majority that they have forgotten.
func TestAnAttemptOfTheSameOwnerDoesNotVouchForYoungServers(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 5, redlatch.Config{})
		for i, p := range all {
			p.Set(stage.Aged(fmt.Sprint("run", i), stage.Seconds(1000)))
		}
		var locks []redlatch.Lock
		for _, p := range all {
			locks = append(locks, p.Rival(t, redlatch.Config{}).Mutex("job"))
			ctx = p.Client.WithOwner(ctx)
		}
		all[1].Set(stage.Dead)
		all[2].Set(stage.Dead)
		other := check.Must(check.Must(redlatch.NewQuorum(locks...)).Lock(ctx, redlatch.WithLease(20*time.Second)))
		synctest.Wait()
		for i := range 2 {
			all[i].Memory.Miniredis().FlushAll()
			all[i].Set(stage.Aged(fmt.Sprint("again", i), stage.Seconds(1)))
		}
		all[2].Set(stage.Aged("run2", stage.Seconds(1000)))
		for _, p := range all[3:] {
			p.Slow(time.Second)
		}
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
		var done sync.WaitGroup
		done.Go(func() { _, _ = q.TryLock(ctx) })
		time.Sleep(100 * time.Millisecond)
		if h, err := q.TryLock(ctx); err == nil {
			t.Errorf("a second holder; the first is valid: %v", other.Valid())
			_ = h.Unlock(ctx)
		}
		done.Wait()
		_ = other.Unlock(ctx)
	})
}

// Goal: no lease of a member of a Quorum is longer than RestartDelay, whatever its owner asks for. Method:
// the holder is cut off, and two servers are restarted empty, one after the other. The hold must have ended when another gets the lock.
func TestNoMemberOutlastsTheRestartDelay(t *testing.T) {
	for what, longer := range map[string]struct {
		before, after func(ctx context.Context, c *redlatch.Client, member *redlatch.Hold) error
	}{
		"a member is extended": {after: func(ctx context.Context, _ *redlatch.Client, member *redlatch.Hold) error {
			return member.Extend(ctx, time.Hour)
		}},
		"a member is taken once more": {after: func(ctx context.Context, c *redlatch.Client, _ *redlatch.Hold) error {
			return check.ErrOf(c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
		}},
		"a member is taken for a Multi": {after: func(ctx context.Context, c *redlatch.Client, _ *redlatch.Hold) error {
			return check.ErrOf(check.Must(redlatch.NewMulti(c.Mutex("job"), c.Mutex("other"))).Lock(ctx, redlatch.WithLease(time.Hour)))
		}},
		"a member is held for longer": {before: func(ctx context.Context, c *redlatch.Client, _ *redlatch.Hold) error {
			return check.ErrOf(c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Hour)))
		}},
	} {
		t.Run(what, func(t *testing.T) {
			stage.Bubble(t, func(t *testing.T, ctx context.Context) {
				all, owner := aged(t, ctx)
				var refused *redlatch.ConfigError
				for _, p := range all {
					if longer.before != nil {
						check.Is(t, "before", longer.before(owner, p.Client, nil), nil)
					}
				}
				h, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(owner)
				if longer.before != nil {
					if !errors.As(err, &refused) {
						t.Errorf("Lock: %v", err)
					}
					return
				}
				synctest.Wait()
				for i, member := range h.Members() {
					if err := longer.after(owner, all[i].Client, member); !errors.As(err, &refused) {
						t.Errorf("%d: %v", i, err)
					}
				}
				takenOver(t, ctx, all, h)
			})
		})
	}
}

// Goal: the same while requests are under way. Method: two members are extended, or taken for a Multi, while their owner asks for
// the Quorum, a little sooner or later. Each answer takes a second.
func TestNoMemberOutlastsTheRestartDelayByALateAnswer(t *testing.T) {
	for what, longer := range map[string]func(ctx context.Context, c *redlatch.Client, member *redlatch.Hold) error{
		"extended": func(ctx context.Context, _ *redlatch.Client, member *redlatch.Hold) error {
			return member.Extend(ctx, time.Hour)
		},
		"taken for a Multi": func(ctx context.Context, c *redlatch.Client, _ *redlatch.Hold) error {
			return check.ErrOf(check.Must(redlatch.NewMulti(c.Mutex("job"), c.Mutex("other"))).Lock(ctx, redlatch.WithLease(time.Hour)))
		},
	} {
		for tenths := range 40 {
			t.Run(fmt.Sprint(what, " after ", tenths), func(t *testing.T) {
				stage.Bubble(t, func(t *testing.T, ctx context.Context) {
					all, owner := stage.Posts(t, 3, redlatch.Config{}), ctx
					for _, p := range all {
						owner = p.Client.WithOwner(owner)
					}
					for i, p := range all {
						member := check.Must(p.Client.Mutex("job").Lock(owner))
						p.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
							defer time.Sleep(time.Second)
							return stage.Aged(fmt.Sprint("run", i), stage.Seconds(1000))(commands, send)
						})
						if i < 2 {
							go func() {
								time.Sleep(time.Duration(tenths) * 100 * time.Millisecond)
								_ = longer(owner, p.Client, member)
							}()
						}
					}
					time.Sleep(2 * time.Second)
					h, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(owner)
					time.Sleep(5 * time.Second)
					if _, ok := errors.AsType[*redlatch.ConfigError](err); err == nil && time.Until(h.Deadline()) > 30*time.Second || err != nil && !ok {
						t.Errorf("%v until %v", err, time.Until(h.Deadline()))
					}
				})
			})
		}
	}
}

// Goal: a server that is restarted empty lets a second holder in, unless it does not count
// for a while. Method: of three servers, one is busy when the lock is taken on the other
// two. Then one of these is restarted: what it has forgotten and what was free are a
// majority. Both halves are shown, so that the first proves that the second could fail.
func TestAServerThatRestartsEmptyDoesNotLetASecondHolderIn(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	for _, delay := range []time.Duration{-1, lease} {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			t.Parallel()
			ctx, name, all := t.Context(), redistest.Name(t), servers(t, 3)
			a, b := openQuorum(t, all, name, impatient(lease)), openQuorum(t, all, name, redlatch.Config{LeaseTime: lease, RestartDelay: delay})
			busy := check.Must(b.clients[2].Mutex(name).Lock(ctx))
			first := check.Must(a.Lock(ctx, redlatch.WithLease(lease))) // it is not restored where it is missing
			_, err := a.clients[2].Mutex(name).TryLock(ctx)             // behind the request of the Quorum, which has been refused by then
			check.Is(t, "TryLock at the busy server", err, redlatch.ErrNotAcquired)
			_ = busy.Unlock(ctx)
			all[1].Restart(t)
			for {
				began := time.Now()
				second, err := b.TryLock(ctx)
				overlap := err == nil && first.Valid()
				if err == nil {
					_ = second.Unlock(ctx)
				}
				switch {
				case delay < 0 && overlap, delay >= 0 && err == nil && !overlap:
					return
				case overlap:
					t.Fatal("there are two holders")
				case delay < 0 && !first.Valid():
					t.Fatal("the second holder was kept out, although nothing should: ", err)
				}
				check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
				<-time.After(max(20*time.Millisecond-time.Since(began), 0))
			}
		})
	}
}

// A server that does not tell since when it is up counts for no quorum.
func TestAServerThatHidesItsAge(t *testing.T) {
	ctx := t.Context()
	d := check.Must(memory.Open(ctx, memory.Options{}))
	defer d.Close()
	c := check.Must(redlatch.New(&stage.Tap{Driver: d}, fixture.Quiet(redlatch.Config{})))
	defer c.Close(ctx)
	_, err := check.Must(redlatch.NewQuorum(c.Mutex("x"))).Lock(ctx)
	check.Is(t, "Lock", err, redlatch.ErrUnsupported)
	if len(fixture.Locked(t, c, "x")) > 0 {
		t.Error("it is locked")
	}
}

// The wait of Lock goes on until restarted servers count.
func TestAQuorumWaitsUntilRestartedServersCount(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 3)
	started := time.Now()
	q := openQuorum(t, all, name, redlatch.Config{LeaseTime: 5 * time.Second})
	_, err := q.TryLock(ctx)
	check.Is(t, "TryLock on restarted servers", err, redlatch.ErrNotAcquired)
	if n := q.standing(t, name); n > 0 {
		t.Errorf("%d members are held after a TryLock in vain", n)
	}
	h := check.Must(q.Lock(ctx))
	check.Within(t, "time until the servers count", time.Since(started), 5*time.Second-fixture.Slack, 9*time.Second+fixture.Slack)
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
}

// Two names of one server are seen by its run_id, where it is asked.
func TestOneServerUnderTwoNamesIsNoMajority(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, redlatch.Config{})
		for i, p := range all {
			p.Set(stage.Aged(fmt.Sprint("run", max(i, 1)), stage.Seconds(1000)))
		}
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
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
		if _, ok := errors.AsType[*redlatch.ConfigError](err); !ok || !strings.Contains(err.Error(), "one server") {
			t.Errorf("Lock is %v, want a ConfigError", err)
		}
		synctest.Wait()
		for i, p := range all {
			if p.Memory.Miniredis().Exists("job") {
				t.Errorf("member %d is locked", i)
			}
		}
	})
}

// Two names that lead to one server cost one member, and hinder no other.
func TestTwoNamesOfOneServerDoNotKeepOthersFromComingBack(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 5, redlatch.Config{})
		for i, p := range all {
			p.Set(stage.Aged(fmt.Sprint("run", min(i, 3)), stage.Seconds(1000)))
		}
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx))
		time.Sleep(time.Minute)
		for i := range 3 {
			all[i].Memory.Miniredis().FlushAll()
			time.Sleep(time.Minute)
			if n := len(h.Members()); n != 4 || !h.Valid() {
				t.Errorf("%d members a minute after restart %d: %v", n, i, h.Err())
			}
		}
		_ = h.Unlock(ctx)
	})
}

// A server counts its uptime in whole seconds, cut off at both ends. So it may be up for a second
// less than it says.
func TestAServerThatMayBeASecondYoungerDoesNotCountYet(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		for uptime, counts := range map[int]bool{30: false, 31: true} {
			all := stage.Posts(t, 3, redlatch.Config{})
			for i, p := range all {
				p.Set(stage.Aged(fmt.Sprint("run", i), stage.Seconds(uptime)))
			}
			h, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).TryLock(ctx)
			if (err == nil) != counts {
				t.Errorf("%d s after a restart, with a delay of 30 s: %v", uptime, err)
			}
			if err == nil {
				_ = h.Unlock(ctx)
			}
		}
	})
}
