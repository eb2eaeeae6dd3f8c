package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestAQuorumWorksWithAMinorityThatIsDeadOrFrozen(t *testing.T) {
	for what, hurt := range map[string]func(*redistest.Server){"dead": (*redistest.Server).Kill, "frozen": (*redistest.Server).Freeze} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, name, all := t.Context(), redistest.Name(t), servers(t, 5)
			cfg := impatient(10 * time.Second)
			cfg.ReleaseTimeout = 500 * time.Millisecond
			a, b := openQuorum(t, all, name, cfg), openQuorum(t, all, name, cfg)
			before := must(a.Lock(ctx))
			redistest.Eventually(t, 5*time.Second, func() bool { return len(before.Members()) == 5 }, "all have joined")
			for _, i := range rand.Perm(5)[:2] {
				hurt(all[i])
			}
			began := time.Now()
			if err := before.Unlock(ctx); err != nil {
				t.Error("Unlock of a hold on all five:", err)
			}
			within(t, "Unlock of a hold on all five", time.Since(began), 0, 50*time.Millisecond+slack)
			for range 5 {
				began := time.Now()
				h, err := a.Lock(ctx)
				if err != nil {
					t.Fatal(err)
				}
				within(t, "Lock", time.Since(began), 0, 50*time.Millisecond+slack)
				_, err = b.TryLock(ctx)
				is(t, "TryLock of the other", err, redlatch.ErrNotAcquired)
				began = time.Now()
				if err := h.Unlock(ctx); err != nil {
					t.Error("Unlock:", err)
				}
				within(t, "Unlock", time.Since(began), 0, 50*time.Millisecond+slack)
			}
			h := must(a.Lock(ctx))
			got := make(chan *redlatch.Hold)
			go func() { got <- must(b.Lock(ctx)) }()
			waiting := func() bool {
				return slices.ContainsFunc(b.clients, func(c *redlatch.Client) bool { return c.Stats().Waiters > 0 })
			}
			redistest.Eventually(t, 5*time.Second, waiting, "the other waits for a member")
			_ = h.Unlock(ctx)
			_ = (<-got).Unlock(ctx)
		})
	}
}

// A server that is slow delays nobody, and joins when it has answered.
func TestAQuorumDoesNotWaitForASlowMinority(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 5)
	var proxies [2]*redistest.Proxy
	var locks []redlatch.Lock
	for i, s := range all {
		url := s.URL()
		if i < 2 {
			proxies[i] = redistest.NewProxy(t, s.Addr())
			url = proxies[i].URL()
		}
		locks = append(locks, openLoosely(t, url, impatient(20*time.Second)).Mutex(name))
	}
	for _, p := range proxies {
		p.Delay(time.Second) // of each request; opening would have taken several
	}
	began := time.Now()
	h := must(redlatch.NewQuorum(locks...).Lock(ctx))
	within(t, "Lock", time.Since(began), 0, 50*time.Millisecond+slack)
	if n := len(h.Members()); n != 3 {
		t.Errorf("%d members before the slow ones can have answered", n)
	}
	redistest.Eventually(t, 10*time.Second, func() bool { return len(h.Members()) == 5 }, "the slow ones have joined")
	began = time.Now()
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
	within(t, "Unlock", time.Since(began), 0, 50*time.Millisecond+slack)

	// Released before the slow ones have answered: what they grant later goes back. They
	// are quicker by now, for what is behind Config.ReleaseTimeout stays for its lease.
	for _, p := range proxies {
		p.Delay(50 * time.Millisecond)
	}
	if err := must(redlatch.NewQuorum(locks...).Lock(ctx)).Unlock(ctx); err != nil {
		t.Error(err)
	}
	direct := openQuorum(t, all, name, impatient(20*time.Second))
	redistest.Eventually(t, 10*time.Second, func() bool { return direct.standing(t, name) == 0 }, "it is free everywhere")
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

func TestAQuorumOutlivesAMinorityAndEndsWithAMajority(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 5)
	const lease = 1500 * time.Millisecond
	q := openQuorum(t, all, name, impatient(lease))
	h := must(q.Lock(ctx))
	redistest.Eventually(t, 5*time.Second, func() bool { return len(h.Members()) == 5 }, "the rest has joined")
	all[0].Kill()
	all[1].Freeze()
	redistest.Eventually(t, 10*time.Second, func() bool { return len(h.Members()) == 3 }, "the members of the minority are lost")
	for end := time.Now().Add(lease); time.Now().Before(end); {
		if !h.Valid() {
			t.Fatal("the hold ended with a minority:", h.Err())
		}
		<-time.After(lease / 20)
	}
	if d := time.Until(h.Deadline()); d <= 0 || d > lease {
		t.Errorf("the deadline is in %v", d)
	}
	frozen := time.Now()
	all[2].Freeze()
	<-h.Done()
	ended := time.Now()
	is(t, "Err", h.Err(), redlatch.ErrLost)
	within(t, "time until it ended", ended.Sub(frozen), 0, lease+slack)
	is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
	redistest.Eventually(t, 5*time.Second, func() bool {
		return len(locked(t, q.clients[3], name))+len(locked(t, q.clients[4], name)) == 0
	}, "what remained is free")
}

// Goal: a server that is restarted empty lets a second holder in, unless it does not count
// for a while. Method: of three servers, one is busy when the lock is taken on the other
// two. Then one of these is restarted: what it has forgotten and what was free are a
// majority. Both halves are shown, so that the first proves that the second could fail.
func TestAServerThatRestartsEmptyDoesNotLetASecondHolderIn(t *testing.T) {
	const lease = 4 * time.Second
	for _, delay := range []time.Duration{-1, lease} {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			t.Parallel()
			ctx, name, all := t.Context(), redistest.Name(t), servers(t, 3)
			a, b := openQuorum(t, all, name, impatient(lease)), openQuorum(t, all, name, redlatch.Config{LeaseTime: lease, RestartDelay: delay})
			busy := must(b.clients[2].Mutex(name).Lock(ctx))
			first := must(a.Lock(ctx, redlatch.WithLease(lease))) // it is not restored where it is missing
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
				is(t, "TryLock", err, redlatch.ErrNotAcquired)
				<-time.After(max(20*time.Millisecond-time.Since(began), 0))
			}
		})
	}
}

func TestAMissingMemberIsTakenAgain(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 3)
	q := openQuorum(t, all, name, impatient(time.Second))
	all[0].Kill()
	h := must(q.Lock(ctx))
	if n := len(h.Members()); n != 2 {
		t.Errorf("%d members with one server dead", n)
	}
	all[0].Restart(t)
	redistest.Eventually(t, 10*time.Second, func() bool { return len(h.Members()) == 3 }, "the dead one is back")
	all[1].Restart(t)
	redistest.Eventually(t, 10*time.Second, func() bool { return len(locked(t, q.clients[1], name)) == 1 }, "the forgetful one is told again")
	if !h.Valid() {
		t.Error("the hold has ended:", h.Err())
	}
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
	redistest.Eventually(t, 5*time.Second, func() bool { return q.standing(t, name) == 0 }, "it is free everywhere")
}

func TestAQuorumOfDeadServersIsAnErrorOfTheNetwork(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 3)
	cfg := impatient(10 * time.Second)
	cfg.CommandTimeout, cfg.ReleaseTimeout = 300*time.Millisecond, 300*time.Millisecond
	q := openQuorum(t, all, name, cfg)
	all[0].Kill()
	all[1].Kill()
	for what, try := range map[string]func(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error){"Lock": q.Lock, "TryLock": q.TryLock} {
		began := time.Now()
		_, err := try(ctx)
		if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
			t.Errorf("%s is %v, want the network's error", what, err)
		}
		within(t, what, time.Since(began), 0, time.Second+slack)
	}
	if n := len(locked(t, q.clients[2], name)); n > 0 {
		t.Error("the one that lives is still locked")
	}
}

// span is when somebody held the lock for certain.
type span struct {
	who         string
	first, last time.Time
}

// Goal: there are never two holders while a minority of servers dies, freezes and restarts
// empty. Method: several participants note from when until when their holds were valid,
// each moment taken on the safe side; no two such spans overlap.
func TestAQuorumHasOneHolderWhileMinoritiesFail(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(8*redistest.Stretch())*time.Second)
	defer cancel()
	name, all := redistest.Name(t), servers(t, 5)
	var mu sync.Mutex
	var spans []span
	var work sync.WaitGroup
	for i := range 4 {
		q := openQuorum(t, all, name, redlatch.Config{LeaseTime: lease, CommandTimeout: lease / 2, ReleaseTimeout: lease / 2})
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		work.Go(func() {
			for ctx.Err() == nil {
				h, err := q.Lock(ctx)
				if err != nil {
					<-time.After(10 * time.Millisecond)
					continue
				}
				s := span{who: fmt.Sprint("participant ", i), first: time.Now()}
				for end := s.first.Add(time.Duration(random.IntN(300)) * time.Millisecond); ; <-time.After(time.Millisecond) {
					now := time.Now()
					if now.After(end) || !h.Valid() {
						break
					}
					s.last = now
				}
				_ = h.Unlock(ctx)
				mu.Lock()
				spans = append(spans, s)
				mu.Unlock()
			}
		})
	}
	fail := rand.New(rand.NewPCG(seed, 99))
	for ctx.Err() == nil {
		two := fail.Perm(5)[:2]
		killed := map[int]bool{}
		for _, i := range two {
			switch fail.IntN(3) {
			case 0:
				all[i].Freeze()
			case 1:
				killed[i] = true
				all[i].Kill()
			default:
				all[i].Restart(t)
			}
		}
		select {
		case <-time.After(time.Duration(fail.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
		}
		// Those that are restarted young stay a minority: the next two fail when these count.
		for _, i := range two {
			all[i].Thaw()
			if killed[i] {
				all[i].Restart(t)
			}
		}
		select {
		case <-time.After(2*time.Second + lease):
		case <-ctx.Done():
		}
	}
	work.Wait()
	checkSpans(t, spans, seed)
}

func checkSpans(t *testing.T, spans []span, seed uint64) {
	slices.SortFunc(spans, func(a, b span) int { return a.first.Compare(b.first) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.first.Before(a.last) && !b.last.IsZero() {
			t.Errorf("%s came in %v before %s was out (seed %d)", b.who, a.last.Sub(b.first), a.who, seed)
		}
	}
	t.Logf("%d holds", len(spans))
	if len(spans) < 5 {
		t.Errorf("only %d holds", len(spans))
	}
}
