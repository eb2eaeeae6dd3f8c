package leader_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/redlatchtest"
)

// Goal: a callback that hangs is reported, and its lock is neither released nor renewed for ever.
func TestWorkThatHangsIsReported(t *testing.T) {
	for name, end := range map[string]func(*candidate, *redlatchtest.Server){
		"after the context": func(c *candidate, _ *redlatchtest.Server) { c.stop() },
		"after a loss":      func(_ *candidate, s *redlatchtest.Server) { s.Lose("leader") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				hung, other := newCandidate(s, redlatch.Config{}), newCandidate(s, redlatch.Config{})
				released := make(chan struct{})
				t.Cleanup(func() { close(released) })
				hung.cb.StopTimeout = time.Minute
				working := hung.cb.Started
				hung.cb.Started = func(ctx context.Context, h *redlatch.Hold) { working(ctx, h); <-released }
				hung.stand(t)
				hold := next(t, "it leads", hung.started)
				end(hung, s)
				<-hold.Context().Done()
				began := time.Now()
				for what, from := range map[string]chan error{"Stopped": hung.stopped, "the end of Run": hung.result} {
					if err := next(t, what, from); !errors.Is(err, leader.ErrStillRunning) {
						t.Errorf("%s: %v", what, err)
					}
				}
				if took := time.Since(began); took != time.Minute {
					t.Errorf("it was reported after %v", took)
				}
				if name == "after the context" {
					if left := s.Miniredis().TTL("leader"); left < 20*time.Second {
						t.Errorf("the lock was released: %v are left", left)
					}
				}
				other.stand(t)
				next(t, "the other one leads", other.started)
				if took := time.Since(began); took > time.Minute+30*time.Second+50*time.Millisecond {
					t.Errorf("the lock was free after %v", took)
				}
			})
		})
	}
}

func TestAPanicReleasesTheLockAndReachesTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{})
		c.cb.Started = func(context.Context, *redlatch.Hold) { panic(io.ErrUnexpectedEOF) }
		func() {
			defer func() {
				err, _ := recover().(*leader.PanicError)
				if err == nil || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "callbacks_test.go") {
					t.Errorf("the panic of Run is %v", err)
				}
			}()
			err := leader.Run(t.Context(), c.lock, c.cb)
			t.Error("Run returned:", err)
		}()
		if err := next(t, "Stopped", c.stopped); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error("Stopped got:", err)
		}
		if s.Miniredis().Exists("leader") {
			t.Error("the lock is not released")
		}
	})
}

func TestAPanicOfStoppedLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{})
		c.cb.Started = func(context.Context, *redlatch.Hold) {}
		c.cb.Stopped = func(error) { panic("stopped") }
		func() {
			defer func() {
				if got := recover(); got != "stopped" {
					t.Errorf("the panic of Run is %v", got)
				}
			}()
			_ = leader.Run(t.Context(), c.lock, c.cb)
		}()
		if s.Miniredis().Exists("leader") {
			t.Error("the lock is not released")
		}
	})
}

func TestWorkThatEndsItsGoroutineHasResigned(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{})
		c.cb.Started = func(context.Context, *redlatch.Hold) { runtime.Goexit() }
		c.stand(t)
		if err := next(t, "the end of Run", c.result); err != nil {
			t.Error("Run returned:", err)
		}
	})
}

// A callback that takes long to begin does not cost the lease: renewals do not wait for it. (A client
// of Ray counted the time of the callback.)
func TestTheLeaseIsRenewedWhateverTheCallbackDoes(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{})
		c.cb.Started = func(ctx context.Context, h *redlatch.Hold) {
			time.Sleep(10 * time.Minute)
			if ctx.Err() != nil || !h.Valid() {
				t.Error("the leadership ended:", context.Cause(ctx))
			}
		}
		c.stand(t)
		if err := next(t, "the end of Run", c.result); err != nil {
			t.Error("Run returned:", err)
		}
	})
}

func TestErrorsOfTheElection(t *testing.T) {
	started := func(context.Context, *redlatch.Hold) {}
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		client := s.Client(redlatch.Config{})
		held := client.Mutex("held")
		if _, err := held.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = s.Miniredis().Set("data", "data")
		closed := s.Client(redlatch.Config{})
		_ = closed.Close(t.Context())
		readers, err := redlatch.NewMulti(client.RWMutex("m").RLocker(), client.RWMutex("n").RLocker())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			l    redlatch.Lock
			cb   leader.Callbacks
			opts []redlatch.LockOption
			want error
		}{
			{held, leader.Callbacks{Started: started}, []redlatch.LockOption{redlatch.WithWait(time.Minute)}, redlatch.ErrNotAcquired},
			{client.Mutex("data"), leader.Callbacks{Started: started}, nil, redlatch.ErrWrongType},
			{client.Mutex(""), leader.Callbacks{Started: started}, nil, redlatch.ErrInvalidName},
			{closed.Mutex("m"), leader.Callbacks{Started: started}, nil, redlatch.ErrClosed},
			{client.Mutex("m"), leader.Callbacks{}, nil, &redlatch.ConfigError{Field: "Started"}},
			{nil, leader.Callbacks{Started: started}, nil, &redlatch.ConfigError{Field: "lock"}},
			{client.RWMutex("m").RLocker(), leader.Callbacks{Started: started}, nil, &redlatch.ConfigError{Field: "lock"}},
			{client.PermitSemaphore("m").Locker(), leader.Callbacks{Started: started}, nil, &redlatch.ConfigError{Field: "lock"}},
			{readers, leader.Callbacks{Started: started}, nil, &redlatch.ConfigError{Field: "lock"}},
			{(*redlatch.Mutex)(nil), leader.Callbacks{Started: started}, nil, &redlatch.ConfigError{Field: "lock"}},
			{&redlatch.Mutex{}, leader.Callbacks{Started: started}, nil, &redlatch.ConfigError{Field: "lock"}},
			{client.Mutex("m"), leader.Callbacks{Started: started, StepDown: -1}, nil, &redlatch.ConfigError{Field: "StepDown"}},
			{client.Mutex("m"), leader.Callbacks{Started: started, StopTimeout: -1}, nil, &redlatch.ConfigError{Field: "StopTimeout"}},
			{client.Mutex("m"), leader.Callbacks{Started: started}, []redlatch.LockOption{{}}, &redlatch.ConfigError{Field: "LockOption"}},
		} {
			err := leader.Run(t.Context(), c.l, c.cb, c.opts...)
			got, want := (*redlatch.ConfigError)(nil), (*redlatch.ConfigError)(nil)
			if errors.As(c.want, &want) {
				if !errors.As(err, &got) || got.Field != want.Field {
					t.Errorf("got %v, want an error of %s", err, want.Field)
				}
			} else if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		}
	})
}

// Goal: what goes wrong is told, and the pauses grow, but not for ever.
func TestFailedAttemptsAreTold(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{})
		var failures atomic.Int64
		c.cb.Failed = func(err error) {
			failures.Add(1)
			if !strings.Contains(err.Error(), "NOPERM") {
				t.Error(err)
			}
		}
		allow := s.Deny()
		c.stand(t)
		time.Sleep(time.Minute)
		if n := failures.Load(); n < 60/5 || n > 40 {
			t.Errorf("%d attempts in a minute", n)
		}
		allow()
		began := time.Now()
		next(t, "it leads", c.started)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it leads %v after the outage", took)
		}
	})
}
