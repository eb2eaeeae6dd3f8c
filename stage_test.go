package redlatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
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
	for _, l := range []redlatch.Lock{k.lock(c, "lesson"), k.rival(c, "lesson")} {
		if err := must(l.Lock(context.Background())).Unlock(context.Background()); err != nil {
			s.Fatal(err)
		}
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
