package wholes_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

func TestAQuorumWorksWithAMinorityThatIsDeadOrFrozen(t *testing.T) {
	for what, hurt := range map[string]func(*redistest.Server){"dead": (*redistest.Server).Kill, "frozen": (*redistest.Server).Freeze} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, name, all := t.Context(), redistest.Name(t), servers(t, 5)
			cfg := impatient(10 * time.Second)
			const prompt = 2 * time.Second // no frozen server is waited for, which would take the command timeout
			a, b := openQuorum(t, all, name, cfg), openQuorum(t, all, name, cfg)
			before := check.Must(a.Lock(ctx))
			redistest.Eventually(t, 5*time.Second, func() bool { return len(before.Members()) == 5 }, "all have joined")
			for _, i := range rand.Perm(5)[:2] {
				hurt(all[i])
			}
			began := time.Now()
			if err := before.Unlock(ctx); err != nil {
				t.Error("Unlock of a hold on all five:", err)
			}
			check.Within(t, "Unlock of a hold on all five", time.Since(began), 0, prompt)
			for range 5 {
				began := time.Now()
				h, err := a.Lock(ctx)
				if err != nil {
					t.Fatal(err)
				}
				check.Within(t, "Lock", time.Since(began), 0, prompt)
				_, err = b.TryLock(ctx)
				check.Is(t, "TryLock of the other", err, redlatch.ErrNotAcquired)
				began = time.Now()
				if err := h.Unlock(ctx); err != nil {
					t.Error("Unlock:", err)
				}
				check.Within(t, "Unlock", time.Since(began), 0, prompt)
			}
			h := check.Must(a.Lock(ctx))
			got := make(chan *redlatch.Hold)
			go func() { got <- check.Must(b.Lock(ctx)) }()
			waiting := func() bool {
				return slices.ContainsFunc(b.clients, func(c *redlatch.Client) bool { return c.Stats().Waiters > 0 })
			}
			redistest.Eventually(t, 5*time.Second, waiting, "the other waits for a member")
			_ = h.Unlock(ctx)
			_ = (<-got).Unlock(ctx)
		})
	}
}

// Goal: a Quorum begins while one of its servers is down, and counts that server when it is there. Method: of three
// servers one cannot be reached at first. When it has joined, another one dies.
func TestAQuorumBeginsWithoutOneOfItsServers(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 3)
	proxy := redistest.NewProxy(t, all[2].Addr())
	proxy.Refuse(t, true)
	cfg := impatient(10 * time.Second)
	cfg.ConnectTimeout, cfg.CommandTimeout, cfg.ReleaseTimeout = -1, time.Second, time.Second
	var locks []redlatch.Lock
	for _, url := range []string{all[0].URL(), all[1].URL(), proxy.URL()} {
		locks = append(locks, openLoosely(t, url, cfg).Mutex(name))
	}
	q := check.Must(redlatch.NewQuorum(locks...))
	h := check.Must(q.Lock(ctx))
	if n := len(h.Members()); n != 2 {
		t.Errorf("it is held on %d servers", n)
	}
	proxy.Refuse(t, false)
	redistest.Eventually(t, 10*time.Second, func() bool { return len(h.Members()) == 3 }, "the third server has joined")
	check.Is(t, "Unlock", h.Unlock(ctx), nil)
	all[0].Kill()
	check.Is(t, "Unlock", check.Must(q.Lock(ctx)).Unlock(ctx), nil)
}

// A server that is slow delays nobody, and joins when it has answered.
func TestAQuorumDoesNotWaitForASlowMinority(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 5)
	var proxies [2]*redistest.Proxy
	var locks []redlatch.Lock
	cfg := impatient(20 * time.Second)
	cfg.CommandTimeout = 10 * time.Second
	for i, s := range all {
		url := s.URL()
		if i < 2 {
			proxies[i] = redistest.NewProxy(t, s.Addr())
			url = proxies[i].URL()
		}
		locks = append(locks, openLoosely(t, url, cfg).Mutex(name))
	}
	for _, p := range proxies {
		p.Delay(2 * time.Second) // of each request; opening would have taken several
	}
	began := time.Now()
	h := check.Must(check.Must(redlatch.NewQuorum(locks...)).Lock(ctx))
	check.Within(t, "Lock", time.Since(began), 0, 1500*time.Millisecond)
	if n := len(h.Members()); n != 3 {
		t.Errorf("%d members before the slow ones can have answered", n)
	}
	redistest.Eventually(t, 10*time.Second, func() bool { return len(h.Members()) == 5 }, "the slow ones have joined")
	began = time.Now()
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
	check.Within(t, "Unlock", time.Since(began), 0, 1500*time.Millisecond)

	// Released before the slow ones have answered: what they grant later goes back. They
	// are quicker by now, for what is behind Config.ReleaseTimeout stays for its lease.
	for _, p := range proxies {
		p.Delay(50 * time.Millisecond)
	}
	if err := check.Must(check.Must(redlatch.NewQuorum(locks...)).Lock(ctx)).Unlock(ctx); err != nil {
		t.Error(err)
	}
	direct := openQuorum(t, all, name, impatient(20*time.Second))
	redistest.Eventually(t, 10*time.Second, func() bool { return direct.standing(t, name) == 0 }, "it is free everywhere")
}

func TestLongAQuorumOutlivesAMinorityAndEndsWithAMajority(t *testing.T) {
	t.Parallel()
	ctx, name, all := t.Context(), redistest.Name(t), servers(t, 5)
	const lease = 3 * time.Second
	q := openQuorum(t, all, name, impatient(lease))
	h := check.Must(q.Lock(ctx))
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
	check.Is(t, "Err", h.Err(), redlatch.ErrLost)
	check.Within(t, "time until it ended", ended.Sub(frozen), 0, lease+fixture.Slack)
	check.Is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
	redistest.Eventually(t, 5*time.Second, func() bool {
		return len(fixture.Locked(t, q.clients[3], name))+len(fixture.Locked(t, q.clients[4], name)) == 0
	}, "what remained is free")
}
