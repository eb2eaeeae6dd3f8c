package faults_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a re-entry that a release overtakes is no hold beside what others are granted, costs no other hold, and leaves
// nothing. Method: an owner that writes and reads asks to write once more, and the answer takes two seconds. Meanwhile it
// releases its first write hold, which does not wait for so long. That arrives, or is refused.
func TestAReentryThatAReleaseOvertakesIsNoHold(t *testing.T) {
	for name, c := range map[string]overtaking{
		"released": {}, "released, and another reads here": {here: true}, "not released": {refused: true}, "a slow server": {slow: true}, "the request comes late": {late: true},
	} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { c.tell(t, s) })
		})
	}
}

// overtaking says what becomes of the release, whether somebody else reads here, and whether what follows takes long.
type overtaking struct{ refused, here, slow, late bool }

func (c overtaking) tell(t *testing.T, s *stage.Stage) {
	s.Teach(stage.LockKinds[3])
	rw, owned := s.Client.RWMutex("job"), s.Client.WithOwner(s.Limited())
	fixed := redlatch.WithLease(time.Hour) // no renewal mends anything
	w, r := check.Must(rw.Lock(owned, fixed)), check.Must(rw.RLock(owned, fixed))
	var sent atomic.Int64
	s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
		if first := sent.Add(1) == 1; first && c.late {
			time.Sleep(2 * time.Second)
		} else if first {
			defer time.Sleep(2 * time.Second)
		} else if c.refused && sent.Load() == 2 {
			return stage.FailAll(commands, &driver.ServerError{Message: "ERR no"})
		} else if c.slow {
			time.Sleep(100 * time.Millisecond)
		}
		return send(commands...)
	})
	again := make(chan error, 1)
	go func() { again <- check.ErrOf(rw.Lock(owned, fixed)) }()
	time.Sleep(time.Millisecond)
	if err := w.Unlock(context.Background()); (err != nil) != c.refused {
		t.Error("Unlock:", err)
	}
	if c.here {
		defer check.Must(rw.TryRLock(s.Limited())).Detach()
	}
	want := redlatch.ErrUpgrade
	if c.slow { // nobody waits for what tells Redis
		want = redlatch.ErrUnknownOutcome
	}
	check.Is(t, "the re-entry", <-again, want)
	check.Is(t, "the hold that is left", r.Err(), nil)
	check.Must(0, check.Must(s.Stranger().RWMutex("job").TryRLock(s.Limited())).Unlock(s.Limited()))
	check.Is(t, "Unlock of what is left", r.Unlock(s.Limited()), nil)
}

// Goal: what a release overtakes costs no hold, and is no loss. Method: the first request of an owner arrives two seconds
// late, behind a release that does not wait for so long.
func TestWhatAReleaseOvertakesIsNoLoss(t *testing.T) {
	fixed, background := redlatch.WithLease(time.Hour), context.Background()
	for name, late := range map[string]func(rw *redlatch.RWMutex, owned context.Context, w *redlatch.Hold) error{
		"a re-entry, by that of the last hold": func(rw *redlatch.RWMutex, owned context.Context, _ *redlatch.Hold) error {
			h, err := rw.Lock(owned, fixed)
			if err == nil {
				err = h.Unlock(background)
			}
			return err
		},
		"a release": func(_ *redlatch.RWMutex, _ context.Context, w *redlatch.Hold) error { return w.Unlock(background) },
	} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				s.Teach(stage.LockKinds[3])
				rw, owned := s.Client.RWMutex("job"), s.Client.WithOwner(s.Limited())
				first, second, left := check.Must(rw.Lock(owned, fixed)), (*redlatch.Hold)(nil), (*redlatch.Hold)(nil)
				if name == "a release" {
					second, left = check.Must(rw.Lock(owned, fixed)), check.Must(rw.RLock(owned, fixed))
				}
				var sent atomic.Int64
				s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					if sent.Add(1) == 1 {
						time.Sleep(2 * time.Second)
					}
					return send(commands...)
				})
				done := make(chan error, 1)
				go func() { done <- late(rw, owned, second) }()
				time.Sleep(time.Millisecond)
				check.Is(t, "the release", first.Unlock(background), nil)
				check.Is(t, "what it overtakes", <-done, nil)
				if left != nil {
					check.Is(t, "the hold that is left", left.Unlock(background), nil)
				}
				check.Must(0, check.Must(s.Stranger().RWMutex("job").TryLock(s.Limited())).Unlock(s.Limited()))
			})
		})
	}
}
