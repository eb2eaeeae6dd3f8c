package redlatch_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
)

// The lease, the end and the context of several locks as one belong to the whole.

// post is one of several servers in a bubble of fake time, with a client of its own.
type post struct {
	*tap
	memory *memory.Driver
	client *redlatch.Client
}

// posts starts servers, one for each member of a whole.
func posts(t *testing.T, n int, cfg redlatch.Config) []*post {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	all := make([]*post, n)
	for i := range all {
		m := must(memory.Open(ctx, memory.Options{}))
		t.Cleanup(m.Close)
		p := &post{tap: &tap{Driver: m}, memory: m}
		p.client = p.rival(t, cfg)
		all[i] = p
	}
	return all
}

// rival returns one more client of the server.
func (p *post) rival(t *testing.T, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	c := must(redlatch.New(p.tap, quiet(cfg)))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// locksOf are the members of that name, one on each server.
func locksOf(all []*post, name string) (locks []redlatch.Lock) {
	for _, p := range all {
		locks = append(locks, p.client.Mutex(name))
	}
	return locks
}

// slow makes every request take so long.
func (p *post) slow(d time.Duration) {
	p.set(func(commands []driver.Command, send sender) []driver.Reply {
		time.Sleep(d)
		return send(commands...)
	})
}

// bubble runs a test in fake time, with a context that does not end with the test.
func bubble(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, context.WithoutCancel(t.Context())) })
}

var sure = redlatch.Config{RestartDelay: -1}

func TestTheEndOfAMultiCountsFromItsLastMember(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 2, sure)
		m := redlatch.NewMulti(locksOf(all, "job")...)
		last := must(all[1].rival(t, sure).Mutex("job").Lock(ctx))
		go func() {
			time.Sleep(100 * time.Second)
			_ = last.Unlock(ctx)
		}()
		began := time.Now()
		h := must(m.Lock(ctx, redlatch.WithMaxHold(time.Minute)))
		within(t, "the wait", time.Since(began), 100*time.Second, 101*time.Second)
		began = time.Now()
		for h.Valid() {
			for _, p := range all {
				if left := p.memory.Miniredis().TTL("job"); time.Since(began)+left > time.Minute+time.Second {
					t.Fatalf("after %v a key has %v left", time.Since(began), left)
				}
			}
			time.Sleep(time.Second)
		}
		within(t, "the hold", time.Since(began), 58*time.Second, 60*time.Second)
		is(t, "Err", h.Err(), redlatch.ErrLost)
		_ = h.Unlock(ctx)
	})
}

// An end of the whole is kept even where an outer hold goes on without one.
func TestAWholeEndsAlthoughItsOwnerHoldsOn(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 2, sure)
		for _, p := range all {
			ctx = p.client.WithOwner(ctx)
		}
		outer := must(redlatch.NewMulti(locksOf(all, "job")...).Lock(ctx))
		for _, opt := range []redlatch.LockOption{redlatch.WithMaxHold(time.Minute), redlatch.WithLease(time.Minute)} {
			began := time.Now()
			inner := must(redlatch.NewMulti(locksOf(all, "job")...).Lock(ctx, opt))
			within(t, "the deadline", time.Until(inner.Deadline()), 0, time.Minute)
			awaitEnd(t, inner)
			within(t, "the inner hold", time.Since(began), 58*time.Second, 60*time.Second)
			_ = inner.Unlock(ctx)
		}
		if !outer.Valid() {
			t.Error("the outer hold has ended:", outer.Err())
		}
		_ = outer.Unlock(ctx)
	})
}

func TestARestoredMemberDoesNotMoveTheEndOfAQuorum(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, sure)
		began := time.Now()
		h := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(ctx, redlatch.WithMaxHold(10*time.Minute)))
		for i := 0; h.Valid() && time.Since(began) < time.Hour; i++ {
			all[i%3].memory.Miniredis().Del("job")
			time.Sleep(45 * time.Second)
		}
		<-h.Done()
		within(t, "the hold", time.Since(began), 9*time.Minute+50*time.Second, 11*time.Minute)
		_ = h.Unlock(ctx)
	})
}

// Everybody gives Lock a context with a timeout and cancels it: it bounds the wait alone.
func TestMembersAreRestoredAfterTheContextOfLockHasEnded(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 3, sure)
		limited, cancel := context.WithTimeout(ctx, time.Second)
		h := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(limited))
		cancel()
		for i := range 9 {
			all[i%3].memory.Miniredis().FlushAll()
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
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 6, sure)
		m := redlatch.NewMulti(locksOf(all, "job")...)
		h := must(m.Lock(ctx))
		time.Sleep(15 * time.Second) // the scripts are loaded
		_ = h.Unlock(ctx)
		for _, p := range all {
			p.slow(200 * time.Millisecond)
		}
		h, err := m.Lock(ctx, redlatch.WithLease(time.Second), redlatch.WithWait(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		within(t, "what is left of the lease", time.Until(h.Deadline()), 700*time.Millisecond, 800*time.Millisecond)
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
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 2, sure)
		var notes []*confirming
		var locks []redlatch.Lock
		for _, p := range all {
			d := &confirming{Driver: p.memory, confirmed: make(map[string]bool)}
			c := must(redlatch.New(d, quiet(sure)))
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			notes, locks = append(notes, d), append(locks, c.Mutex("job"))
		}
		last := must(all[1].client.Mutex("job").Lock(ctx))
		go func() {
			time.Sleep(100 * time.Second)
			_ = last.Unlock(ctx)
		}()
		h := must(redlatch.NewMulti(locks...).Lock(ctx, redlatch.WithLease(40*time.Second), redlatch.WithReplicas(1, time.Second)))
		for i, d := range notes {
			d.mu.Lock()
			if !d.confirmed["job"] {
				t.Errorf("server %d: the last request was not confirmed", i)
			}
			d.mu.Unlock()
		}
		within(t, "what is left", time.Until(h.Deadline()), 39*time.Second, 40*time.Second)
		for _, p := range all {
			within(t, "the TTL", p.memory.Miniredis().TTL("job"), 39*time.Second, 40*time.Second)
		}
		_ = h.Unlock(ctx)
	})
}
