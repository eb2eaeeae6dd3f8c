package wholes_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// The lease, the end and the context of several locks as one belong to the whole.

func TestTheEndOfAMultiCountsFromItsLastMember(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, stage.Sure)
		m := check.Must(redlatch.NewMulti(stage.LocksOf(all, "job")...))
		last := check.Must(all[1].Rival(t, stage.Sure).Mutex("job").Lock(ctx))
		go func() {
			time.Sleep(100 * time.Second)
			_ = last.Unlock(ctx)
		}()
		began := time.Now()
		h := check.Must(m.Lock(ctx, redlatch.WithMaxHold(time.Minute)))
		check.Within(t, "the wait", time.Since(began), 100*time.Second, 101*time.Second)
		began = time.Now()
		for h.Valid() {
			for _, p := range all {
				if left := p.Memory.Miniredis().TTL("job"); time.Since(began)+left > time.Minute+time.Second {
					t.Fatalf("after %v a key has %v left", time.Since(began), left)
				}
			}
			time.Sleep(time.Second)
		}
		check.Within(t, "the hold", time.Since(began), 58*time.Second, 60*time.Second)
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		_ = h.Unlock(ctx)
	})
}

// An end of the whole is kept even where an outer hold goes on without one.
func TestAWholeEndsAlthoughItsOwnerHoldsOn(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, stage.Sure)
		for _, p := range all {
			ctx = p.Client.WithOwner(ctx)
		}
		outer := check.Must(check.Must(redlatch.NewMulti(stage.LocksOf(all, "job")...)).Lock(ctx))
		for _, opt := range []redlatch.LockOption{redlatch.WithMaxHold(time.Minute), redlatch.WithLease(time.Minute)} {
			began := time.Now()
			inner := check.Must(check.Must(redlatch.NewMulti(stage.LocksOf(all, "job")...)).Lock(ctx, opt))
			check.Within(t, "the deadline", time.Until(inner.Deadline()), 0, time.Minute)
			awaitEnd(t, inner)
			check.Within(t, "the inner hold", time.Since(began), 58*time.Second, 60*time.Second)
			_ = inner.Unlock(ctx)
		}
		if !outer.Valid() {
			t.Error("the outer hold has ended:", outer.Err())
		}
		_ = outer.Unlock(ctx)
	})
}

func TestARestoredMemberDoesNotMoveTheEndOfAQuorum(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		began := time.Now()
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx, redlatch.WithMaxHold(10*time.Minute)))
		for i := 0; h.Valid() && time.Since(began) < time.Hour; i++ {
			all[i%3].Memory.Miniredis().Del("job")
			time.Sleep(45 * time.Second)
		}
		<-h.Done()
		check.Within(t, "the hold", time.Since(began), 9*time.Minute+50*time.Second, 11*time.Minute)
		_ = h.Unlock(ctx)
	})
}

// Everybody gives Lock a context with a timeout and cancels it: it bounds the wait alone.
func TestMembersAreRestoredAfterTheContextOfLockHasEnded(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		limited, cancel := context.WithTimeout(ctx, time.Second)
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(limited))
		cancel()
		for i := range 9 {
			all[i%3].Memory.Miniredis().FlushAll()
			time.Sleep(time.Minute)
			if n := len(h.Members()); n != 3 || !h.Valid() {
				t.Fatalf("%d members a minute after restart %d: %v", n, i, h.Err())
			}
		}
		if h.Context().Err() == nil {
			t.Error("the hold's context outlives its parent")
		}
		_ = h.Unlock(ctx)
	})
}

func TestAFixedLeaseComesTogetherOnFarServers(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 6, stage.Sure)
		m := check.Must(redlatch.NewMulti(stage.LocksOf(all, "job")...))
		h := check.Must(m.Lock(ctx))
		time.Sleep(15 * time.Second) // the scripts are loaded
		_ = h.Unlock(ctx)
		for _, p := range all {
			p.Slow(200 * time.Millisecond)
		}
		h = check.Must(m.Lock(ctx, redlatch.WithLease(time.Second), redlatch.WithWait(10*time.Second)))
		check.Within(t, "what is left of the lease", time.Until(h.Deadline()), 700*time.Millisecond, 800*time.Millisecond)
		_ = h.Unlock(ctx)
	})
}

// confirming is a driver whose replicas confirm everything. It notes for each lock whether
// the last script about it was confirmed.
type confirming struct {
	driver.Driver
	mu        sync.Mutex
	confirmed map[string]bool
}

func (d *confirming) note(commands []driver.Command, confirmed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range commands {
		if len(c.Words) > 3 {
			d.confirmed[c.Key] = confirmed
		}
	}
}

func (d *confirming) Do(ctx context.Context, c driver.Command) driver.Reply {
	return d.Pipeline(ctx, c)[0]
}

func (d *confirming) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.note(commands, false)
	return d.Driver.Pipeline(ctx, commands...)
}

func (d *confirming) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.note(commands[:1], true)
	return append(d.Driver.Pipeline(ctx, commands[0]), driver.Reply{Int: 2})
}

// What replicas confirm is the lease of the whole, not one that came before it.
func TestReplicasConfirmTheLeaseOfTheWhole(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, stage.Sure)
		var notes []*confirming
		var locks []redlatch.Lock
		for _, p := range all {
			d := &confirming{Driver: p.Memory, confirmed: make(map[string]bool)}
			c := check.Must(redlatch.New(d, fixture.Quiet(stage.Sure)))
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			notes, locks = append(notes, d), append(locks, c.Mutex("job"))
		}
		last := check.Must(all[1].Client.Mutex("job").Lock(ctx))
		go func() {
			time.Sleep(100 * time.Second)
			_ = last.Unlock(ctx)
		}()
		h := check.Must(check.Must(redlatch.NewMulti(locks...)).Lock(ctx, redlatch.WithLease(40*time.Second), redlatch.WithReplicas(1, time.Second)))
		for i, d := range notes {
			d.mu.Lock()
			if !d.confirmed["job"] {
				t.Errorf("server %d: the last request was not confirmed", i)
			}
			d.mu.Unlock()
		}
		check.Within(t, "what is left", time.Until(h.Deadline()), 39*time.Second, 40*time.Second)
		for _, p := range all {
			check.Within(t, "the TTL", p.Memory.Miniredis().TTL("job"), 39*time.Second, 40*time.Second+10*time.Millisecond)
		}
		_ = h.Unlock(ctx)
	})
}

// Four servers of a round trip of 300 ms take longer to lock one after another than a lease
// of one second lasts. The members are renewed meanwhile, which takes as long as they may
// go without. Whoever is the first to renew there finds no script, and loses that round.
func TestServersThatAreFarAwayAreHeldTogetherForAShortLease(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		locks, leave := stage.FarLocks(ctx, 4)
		defer leave()
		multi, quorum := check.Must(redlatch.NewMulti(locks...)), check.Must(redlatch.NewQuorum(locks...))
		for _, lock := range []interface {
			Lock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error)
		}{multi, multi, quorum, quorum} {
			h, err := lock.Lock(ctx, redlatch.WithLease(time.Second), redlatch.WithWait(20*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			check.Within(t, "what is left of the lease", time.Until(h.Deadline()), 500*time.Millisecond, time.Second)
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}
