package counters_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: what is repeated aside counts once. Method: a release is carried out, its reply is lost, and the server is out
// of reach for about as long as the request is repeated. The last copy arrives after that.
func TestAReleaseThatIsRepeatedAsideIsCarriedOutOnce(t *testing.T) {
	for _, more := range []time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second} {
		t.Run(more.String(), func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				ctx, other := s.Limited(), s.Stranger()
				sem, latch := s.Client.Semaphore("job"), s.Client.Latch("latch")
				check.Must(sem.TrySetPermits(ctx, 3))
				check.Must(latch.TrySetCount(ctx, 5))
				check.Must(0, sem.Acquire(ctx, 2))
				check.Must(0, sem.Release(ctx, 1)) // the server knows the script
				check.Must(0, latch.CountDown(ctx))
				began := time.Now()
				var sent sync.Map // by key
				s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					key := commands[0].Key
					_, again := sent.LoadOrStore(key, true)
					switch {
					case !again:
						send(commands...)
						return stage.FailAll(commands, stage.ErrCut)
					case time.Since(began) < 2*time.Minute+more:
						return stage.FailAll(commands, stage.ErrCut)
					}
					t.Logf("%s arrives after %v", key, time.Since(began))
					return send(commands...)
				})
				done := make(chan struct{})
				go func() {
					defer close(done)
					if err := latch.CountDown(ctx); !errors.Is(err, redlatch.ErrUnknownOutcome) {
						t.Errorf("CountDown: %v", err)
					}
				}()
				if err := sem.Release(ctx, 1); !errors.Is(err, redlatch.ErrUnknownOutcome) {
					t.Errorf("Release: %v", err)
				}
				<-done
				time.Sleep(4 * time.Minute)
				fixture.Available(t, other.Semaphore("job"), 3)
				if n := check.Must(other.Latch("latch").Count(ctx)); n != 3 {
					t.Errorf("the latch has %d, want 3", n)
				}
			})
		})
	}
}

// Goal: as above. Method: the process is paused right after a release whose reply was lost, for longer than it is
// repeated, and for longer than its record is kept.
func TestAPauseBeforeAReleaseIsRepeatedAside(t *testing.T) {
	for _, pause := range []time.Duration{121 * time.Second, 241 * time.Second} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { pauseBeforeRepetition(t, s, pause) })
	}
}

func pauseBeforeRepetition(t *testing.T, s *stage.Stage, pause time.Duration) {
	ctx, other := s.Limited(), s.Stranger()
	sem := s.Client.Semaphore("job")
	check.Must(sem.TrySetPermits(ctx, 3))
	check.Must(0, sem.Acquire(ctx, 2))
	check.Must(0, sem.Release(ctx, 1)) // the server knows the script
	first := true
	s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
		if !first {
			return send(commands...)
		}
		first = false
		send(commands...)
		time.Sleep(pause) // the process is paused, and the connection is gone when it goes on
		return stage.FailAll(commands, stage.ErrCut)
	})
	if err := sem.Release(ctx, 1); !errors.Is(err, redlatch.ErrUnknownOutcome) {
		t.Errorf("Release: %v", err)
	}
	time.Sleep(4 * time.Minute)
	fixture.Available(t, other.Semaphore("job"), 3)
}
