package wholes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
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

// renews says that a request is a single renewal.
func renews(commands []driver.Command) bool {
	words := commands[0].Words
	return strings.HasPrefix(words[0], "EVAL") && len(words) == 11 && words[5] == ""
}

// A member is lost and restored while the confirmation of its former hold is under way. That it
// fails is no news of the new one.
func TestAConfirmationThatFailsLateIsOfTheFormerHold(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		cfg := redlatch.Config{RestartDelay: -1, LeaseTime: 3 * time.Second, CommandTimeout: 10 * time.Second}
		all := stage.Posts(t, 3, cfg)
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
		_ = check.Must(q.Lock(ctx, redlatch.WithMaxHold(time.Minute))).Unlock(ctx)
		synctest.Wait()
		var delayed atomic.Bool
		all[2].Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if renews(commands) && !delayed.Swap(true) {
				time.Sleep(2500 * time.Millisecond)
			}
			return send(commands...)
		})
		h := check.Must(q.Lock(ctx, redlatch.WithMaxHold(time.Minute)))
		time.Sleep(500 * time.Millisecond)
		all[2].Memory.Miniredis().FlushAll()
		time.Sleep(5 * time.Second)
		all[0].Set(stage.Dead)
		all[0].Memory.Miniredis().FlushAll()
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
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		ctx = all[2].Client.WithOwner(ctx)
		q := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...))
		_ = check.Must(q.Lock(ctx, redlatch.WithMaxHold(time.Hour))).Unlock(ctx)
		synctest.Wait()
		var refused atomic.Bool
		single := make(chan *redlatch.Hold, 1)
		all[2].Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if renews(commands) && !refused.Swap(true) {
				go func() { single <- check.Must(all[2].Client.Mutex("job").Lock(ctx)) }()
				time.Sleep(10 * time.Millisecond)
				return stage.FailAll(commands, &driver.ServerError{Message: "ERR out of order"})
			}
			if refused.Load() {
				time.Sleep(200 * time.Millisecond)
			}
			return send(commands...)
		})
		h := check.Must(q.Lock(ctx, redlatch.WithMaxHold(time.Hour)))
		time.Sleep(10 * time.Second)
		if n := len(h.Members()); n != 3 {
			t.Errorf("%d members", n)
		}
		_ = (<-single).Unlock(ctx)
		_ = h.Unlock(ctx)
		time.Sleep(time.Second)
		if all[2].Memory.Miniredis().Exists("job") {
			t.Error("a hold of the member stays")
		}
	})
}

// A member that is still on its way back from its last holder joins soon.
func TestAMemberThatIsOnItsWayBackJoinsSoon(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		other := check.Must(all[2].Rival(t, stage.Sure).Mutex("job").Lock(ctx))
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx))
		_ = other.Unlock(ctx)
		time.Sleep(500 * time.Millisecond)
		if n := len(h.Members()); n != 3 {
			t.Errorf("%d members half a second later", n)
		}
		_ = h.Unlock(ctx)
	})
}

// Goal: a client that shuts down does not ask for a member all the time that another one holds. Method: fake time,
// which stands still while anybody is busy.
func TestAMissingMemberIsLeftAloneByAShutdown(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		other := check.Must(all[2].Rival(t, stage.Sure).Mutex("job").Lock(ctx))
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx))
		time.Sleep(time.Second)
		ended := make(chan error)
		go func() { ended <- all[2].Client.Shutdown(ctx) }()
		time.Sleep(time.Minute)
		if n := len(h.Members()); n != 2 || !h.Valid() {
			t.Errorf("%d members during a Shutdown: %v", n, h.Err())
		}
		if err := errors.Join(h.Unlock(ctx), other.Unlock(ctx), <-ended); err != nil {
			t.Error(err)
		}
	})
}

// Goal: nobody asks servers more often than is useful, and after the end nobody asks at
// all. Method: fake time, a server that blocks its member all the while, and a count.
func TestAMissingMemberIsAskedForAsOftenAsAnyLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		var locks []redlatch.Lock
		var all []*redlatch.Client
		var last *stage.Tap
		for i := range 3 {
			d := check.Must(memory.Open(ctx, memory.Options{}))
			defer d.Close()
			last = &stage.Tap{Driver: d}
			c := check.Must(redlatch.New(last, fixture.Quiet(redlatch.Config{LeaseTime: time.Duration(30+7*i) * time.Second, RestartDelay: -1})))
			defer c.Close(ctx)
			all, locks = append(all, c), append(locks, c.Mutex("x"))
		}
		check.Must(all[2].Mutex("x").Lock(ctx, redlatch.WithLease(time.Hour)))
		h := check.Must(check.Must(redlatch.NewQuorum(locks...)).Lock(ctx))
		time.Sleep(time.Minute) // the pauses have grown to their full length
		before := last.Trips.Load()
		time.Sleep(10 * time.Minute)
		// It is waited for like any lock: for 4 to 5 s at a time, as Config.PollCap says. The mean of 133 looks has a
		// lock, and which server that is. The mean of 133 looks has a standard deviation of 0.7 looks.
		check.Within(t, "requests in ten minutes", last.Trips.Load()-before, 128, 138)
		if !h.Valid() || len(h.Members()) != 2 {
			t.Errorf("%d members, %v", len(h.Members()), h.Err())
		}
		// What is missing is free: it joins, with a term of its own.
		check.Must(all[2].Mutex("x").ForceUnlock(ctx))
		time.Sleep(14 * time.Second)
		var ends []time.Time
		for _, one := range h.Members() {
			ends = append(ends, one.Deadline())
		}
		slices.SortFunc(ends, time.Time.Compare)
		if len(ends) != 3 || ends[0].Equal(ends[1]) || ends[1].Equal(ends[2]) || !h.Deadline().Equal(ends[1]) {
			t.Errorf("of members that end at %v the whole ends at %v, want the second of three", ends, h.Deadline())
		}
		_ = h.Unlock(ctx)
		synctest.Wait() // the rest is given back behind it
		before = last.Trips.Load()
		time.Sleep(10 * time.Minute)
		if n := last.Trips.Load() - before; n != 0 {
			t.Errorf("%d requests after the end", n)
		}
	})
}

func TestAMissingMemberIsTakenAgain(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 3)
	q := openQuorum(t, all, name, impatient(time.Second))
	all[0].Kill()
	h := check.Must(q.Lock(ctx))
	if n := len(h.Members()); n != 2 {
		t.Errorf("%d members with one server dead", n)
	}
	all[0].Restart(t)
	redistest.Eventually(t, 10*time.Second, func() bool { return len(h.Members()) == 3 }, "the dead one is back")
	all[1].Restart(t)
	redistest.Eventually(t, 10*time.Second, func() bool { return len(fixture.Locked(t, q.clients[1], name)) == 1 }, "the forgetful one is told again")
	if !h.Valid() {
		t.Error("the hold has ended:", h.Err())
	}
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
	redistest.Eventually(t, 5*time.Second, func() bool { return q.standing(t, name) == 0 }, "it is free everywhere")
}
