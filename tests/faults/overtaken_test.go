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
