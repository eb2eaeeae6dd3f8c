package wholes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// servers are several of the test's own.
func servers(t *testing.T, n int) []*redistest.Server {
	all := make([]*redistest.Server, n)
	for i := range all {
		all[i] = redistest.Start(t)
	}
	return all
}

// impatient is what a quorum of servers that have just been started can be tested with:
// they never forget anything, or the test is about what happens when they do.
func impatient(lease time.Duration) redlatch.Config {
	return redlatch.Config{LeaseTime: lease, RestartDelay: -1}
}

// quorum is one participant: its clients, one for each server, and its lock.
type quorum struct {
	*redlatch.Quorum
	clients []*redlatch.Client
}

func openQuorum(t *testing.T, all []*redistest.Server, name string, cfg redlatch.Config) quorum {
	t.Helper()
	var q quorum
	var locks []redlatch.Lock
	for _, s := range all {
		c := openLoosely(t, s.URL(), cfg)
		q.clients = append(q.clients, c)
		locks = append(locks, c.Mutex(name))
	}
	q.Quorum = check.Must(redlatch.NewQuorum(locks...))
	return q
}

// openLoosely is open for servers that may be dead when the client closes.
func openLoosely(t *testing.T, url string, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	c := check.Must(redlatch.Open(t.Context(), url, fixture.Quiet(cfg)))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// standing asks the servers, and not the clients, how many of them have the lock.
func (q quorum) standing(t *testing.T, name string) (n int) {
	t.Helper()
	for _, c := range q.clients {
		n += len(fixture.Locked(t, c, name))
	}
	return n
}

func TestQuorumsThatCannotBe(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	a, same, b := fixture.Open(t, "memory://"+id, redlatch.Config{}), fixture.Open(t, "memory://"+id, redlatch.Config{}), fixture.Open(t, "memory://"+id+"b", redlatch.Config{})
	for what, locks := range map[string][]redlatch.Lock{
		"nothing":          nil,
		"nil":              {nil},
		"a multi":          {check.Must(redlatch.NewMulti(a.Mutex("x")))},
		"a reader":         {a.RWMutex("x").RLocker(), b.Mutex("x")},
		"one client twice": {a.Mutex("x"), b.Mutex("x"), a.Mutex("y")},
		"one server twice": {a.Mutex("x"), b.Mutex("x"), same.Mutex("x")},
	} {
		_, err := redlatch.NewQuorum(locks...)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "NewQuorum" {
			t.Errorf("%s: %v, want a ConfigError for NewQuorum", what, err)
		}
	}
	q := check.Must(redlatch.NewQuorum(a.Mutex("x"), b.RWMutex("x")))
	_, err := q.Lock(ctx, redlatch.WithLease(time.Hour))
	if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "WithLease" {
		t.Errorf("a lease beyond the restart delay: %v", err)
	}
	if err := check.Must(q.Lock(ctx)).Unlock(ctx); err != nil {
		t.Error("a quorum of embedded servers:", err)
	}
}

func TestAClosedClientIsAMissingMember(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	var locks []redlatch.Lock
	var clients []*redlatch.Client
	for i := range 3 {
		c := fixture.Open(t, fmt.Sprintf("memory://%s%d", id, i), redlatch.Config{LeaseTime: time.Second})
		clients, locks = append(clients, c), append(locks, c.Mutex("x"))
	}
	q := check.Must(redlatch.NewQuorum(locks...))
	h := check.Must(q.Lock(ctx))
	redistest.Eventually(t, 5*time.Second, func() bool { return len(h.Members()) == 3 }, "all have joined")
	if err := clients[0].Close(ctx); err != nil {
		t.Error(err)
	}
	if len(h.Members()) != 2 || !h.Valid() {
		t.Errorf("%d members, valid: %v", len(h.Members()), h.Valid())
	}
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
	h = check.Must(q.TryLock(ctx))
	if err := clients[1].Close(ctx); err != nil {
		t.Error(err)
	}
	check.Is(t, "Err without a majority", h.Err(), redlatch.ErrReleased)
	_ = h.Unlock(ctx)
	_, err := q.Lock(ctx)
	check.Is(t, "Lock", err, redlatch.ErrClosed)
}

// From three servers to five in one step there are two majorities that share no server.
func TestAQuorumThatGrowsByTwoServersIsRefused(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 5, stage.Sure)
		small := check.Must(redlatch.NewQuorum(stage.LocksOf(all[:3], "job")...))
		all[2].Set(stage.Dead)
		h := check.Must(small.Lock(ctx))
		all[2].Set(nil)
		_, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).TryLock(ctx)
		var config *redlatch.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("five servers while three are in use: %v, want a ConfigError", err)
		}
		if _, err = check.Must(redlatch.NewQuorum(stage.LocksOf(all[1:4], "job")...)).TryLock(ctx); !errors.As(err, &config) {
			t.Errorf("one server for another while three are in use: %v, want a ConfigError", err)
		}
		if _, err = check.Must(redlatch.NewQuorum(stage.LocksOf(all[:4], "job")...)).TryLock(ctx); errors.As(err, &config) {
			t.Errorf("four servers while three are in use: %v", err)
		}
		_ = h.Unlock(ctx)
		if err := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx)).Unlock(ctx); err != nil {
			t.Error("after the release:", err)
		}
	})
}
