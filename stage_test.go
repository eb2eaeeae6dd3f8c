package redlatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/embedded"
)

// A server in a bubble of fake time, and its clients.

// stage is what a story takes place on: a server of its own with its driver, inside
// a bubble of fake time, so that many leases take no time and every moment is exact.
type stage struct {
	*testing.T
	driver *spoiled
	memory *memory.Driver
	client *redlatch.Client
	others []*redlatch.Client
}

// other returns one more client on the same server.
func (s *stage) other(cfg redlatch.Config) *redlatch.Client {
	s.Helper()
	return s.on(s.driver, cfg)
}

// on returns a client on a driver to the same server.
func (s *stage) on(d driver.Driver, cfg redlatch.Config) *redlatch.Client {
	s.Helper()
	c, err := redlatch.New(d, quiet(cfg))
	if err != nil {
		s.Fatal(err)
	}
	s.others = append(s.others, c)
	return c
}

// ttl is what Redis says is left of a key.
func (s *stage) ttl(name string) time.Duration { return s.memory.Miniredis().TTL(name) }

// story runs one.
func story(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { perform(t, cfg, tell) })
}

func perform(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage)) {
	ctx := context.WithoutCancel(t.Context())
	m, err := memory.Open(ctx, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	embedded.Quicken(m.Miniredis())
	s := &stage{T: t, driver: &spoiled{Driver: m}, memory: m}
	s.client = s.other(cfg)
	defer func() {
		for _, c := range s.others {
			if err := c.Close(ctx); err != nil {
				t.Error("close:", err)
			}
		}
		m.Close()
	}()
	tell(t, s)
}

// teach has the server know the scripts of a kind. A server that does not know a script
// carries out nothing: whoever loses the reply to the first request has lost nothing.
func (s *stage) teach(k lockKind) {
	s.Helper()
	c := s.stranger()
	ctx := c.WithOwner(context.Background())
	if k.of == permitKind.of {
		must(c.PermitSemaphore("job").TrySetPermits(ctx, 1))
		must(c.PermitSemaphore("lesson").TrySetPermits(ctx, 2))
	}
	for _, l := range []redlatch.Lock{k.lock(c, "lesson"), k.rival(c, "lesson")} {
		once, twice := must(l.Lock(ctx)), must(l.Lock(ctx)) // of two holds, one is released by a script
		if err := errors.Join(twice.Unlock(ctx), once.Unlock(ctx)); err != nil {
			s.Fatal(err)
		}
	}
}

// taken says that Redis has the lock, or the permit, for somebody.
func (s *stage) taken(k lockKind) bool {
	if k.of == permitKind.of {
		return s.memory.Miniredis().Exists("{job}:timeout")
	}
	return s.memory.Miniredis().Exists("job")
}

// takeAway makes Redis lose who has the lock, or the permit. The permit is available again.
func (s *stage) takeAway(k lockKind) {
	s.Helper()
	if k.of != permitKind.of {
		s.memory.Miniredis().Del("job")
		return
	}
	s.memory.Miniredis().Del("{job}:timeout")
	if err := s.memory.Miniredis().Set("job", "1"); err != nil {
		s.Fatal(err)
	}
}

// limited is the context of a story that ends within an hour of its time. In a bubble, who
// waits for ever waits without a pause.
func (s *stage) limited() context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), time.Hour)
	s.Cleanup(cancel)
	return ctx
}

// stranger returns a client of another machine: no fault of this one's network meets it.
func (s *stage) stranger() *redlatch.Client {
	s.Helper()
	return s.on(s.memory, redlatch.Config{})
}

// wantAlone fails if a stranger gets the lock while h says that it is valid. It returns
// when h has ended.
func (s *stage) wantAlone(h *redlatch.Hold, k lockKind) {
	s.Helper()
	rival, began := k.rival(s.stranger(), "job"), time.Now()
	for ; h.Valid(); time.Sleep(time.Second) {
		other, err := rival.TryLock(context.Background())
		if err == nil {
			since := time.Since(began)
			<-h.Done()
			s.Errorf("after %v a stranger got the lock, and the hold was valid for %v more", since, time.Since(began)-since)
			_ = other.Unlock(context.Background())
			return
		}
		if time.Since(began) > time.Hour {
			s.Fatal("the hold does not end")
		}
	}
}

// tap puts a tap between the stage's clients and their server. It comes before the first
// request.
func (s *stage) tap() *tap {
	d := &tap{Driver: s.driver.Driver}
	s.driver.Driver = d
	return d
}
