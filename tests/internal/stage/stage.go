// Package stage is a server in a bubble of fake time, and the drivers that come between it and its clients.
package stage

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
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// A server in a bubble of fake time, and its clients.

// Stage is what a story takes place on: a server of its own with its driver, inside
// a bubble of fake time, so that many leases take no time and every moment is exact.
type Stage struct {
	*testing.T
	Driver *Tap
	Memory *memory.Driver
	Client *redlatch.Client
	Others []*redlatch.Client
}

// Other returns one more client on the same server.
func (s *Stage) Other(cfg redlatch.Config) *redlatch.Client {
	s.Helper()
	return s.On(s.Driver, cfg)
}

// On returns a client on a driver to the same server.
func (s *Stage) On(d driver.Driver, cfg redlatch.Config) *redlatch.Client {
	s.Helper()
	c := check.Must(redlatch.New(d, fixture.Quiet(cfg)))
	s.Others = append(s.Others, c)
	return c
}

// TTL is what Redis says is left of a key.
func (s *Stage) TTL(name string) time.Duration { return s.Memory.Miniredis().TTL(name) }

// Story runs one.
func Story(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *Stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { Perform(t, cfg, tell) })
}

func Perform(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *Stage)) {
	ctx := context.WithoutCancel(t.Context())
	m := check.Must(memory.Open(ctx, memory.Options{}))
	embedded.Quicken(m.Miniredis())
	s := &Stage{T: t, Driver: &Tap{Driver: m}, Memory: m}
	s.Client = s.Other(cfg)
	defer func() {
		for _, c := range s.Others {
			if err := c.Close(ctx); err != nil {
				t.Error("close:", err)
			}
		}
		m.Close()
	}()
	tell(t, s)
}

// Teach has the server know the scripts of a kind. A server that does not know a script
// carries out nothing: whoever loses the reply to the first request has lost nothing.
func (s *Stage) Teach(k Kind) {
	s.Helper()
	c := s.Stranger()
	ctx := c.WithOwner(context.Background())
	for _, l := range []redlatch.Lock{k.Lock(c, "lesson"), k.Rival(c, "lesson")} {
		once, twice := check.Must(l.Lock(ctx)), check.Must(l.Lock(ctx)) // of two holds, one is released by a script
		if err := errors.Join(twice.Unlock(ctx), once.Unlock(ctx)); err != nil {
			s.Fatal(err)
		}
	}
}

// Limited is the context of a story that ends within an hour of its time. In a bubble, who
// waits for ever waits without a pause.
func (s *Stage) Limited() context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), time.Hour)
	s.Cleanup(cancel)
	return ctx
}

// Stranger returns a client of another machine: no fault of this one's network meets it.
func (s *Stage) Stranger() *redlatch.Client {
	s.Helper()
	return s.On(s.Memory, redlatch.Config{})
}

// WantAlone fails if a stranger gets the lock while h says that it is valid. It returns
// when h has ended.
func (s *Stage) WantAlone(h *redlatch.Hold, k Kind) {
	s.Helper()
	rival, began := k.Rival(s.Stranger(), "job"), time.Now()
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

// Tap puts a tap between the stage's clients and their server. It comes before the first
// request.
func (s *Stage) Tap() *Tap {
	d := &Tap{Driver: s.Driver.Driver}
	s.Driver.Driver = d
	return d
}
