package leases_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a hold that nobody can renew any more is lost at its deadline, whoever looks first: the timer, Unlock or Close.
// That is so beside a watchdog, too. Method: it is released, or its client is closed, at its deadline, so often that the
// timer is late sometimes.
func TestAHoldWhoseTimeIsOverIsLostWhoeverLooksFirst(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]redlatch.LockOption{"maximum": redlatch.WithMaxHold(time.Minute), "lease": redlatch.WithLease(time.Minute)} {
		for who, tell := range map[string]func(*testing.T, redlatch.Config, func(*testing.T, *stage.Stage)){"nobody": stage.Story, "a watchdog": stage.Protected} {
			t.Run(name+" beside "+who, func(t *testing.T) {
				var released, lost atomic.Int64
				observer := fixture.Observer(func(_ context.Context, e redlatch.Event) {
					switch e.Kind {
					case redlatch.EventReleased, redlatch.EventClosed:
						released.Add(1)
					case redlatch.EventLost:
						lost.Add(1)
					}
				})
				const rounds = 60
				tell(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
					for i := range rounds {
						c := s.Other(redlatch.Config{Observer: observer, Protect: who != "nobody"})
						h := check.Must(c.Mutex("job").Lock(t.Context(), opt))
						for time.Now().Before(h.Deadline()) { // Valid would end it
							time.Sleep(time.Until(h.Deadline()))
						}
						if i%2 == 0 {
							check.Is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
						}
						check.Is(t, "Close", c.Close(t.Context()), nil)
						check.Is(t, "Err", h.Err(), redlatch.ErrLost)
						time.Sleep(time.Minute) // Redis keeps the lock for a little longer
					}
				})
				check.Within(t, "releases", released.Load(), 0, 0)
				check.Within(t, "losses", lost.Load(), rounds, rounds)
			})
		}
	}
}

// Goal: Close frees the lock of a hold whose time is over as it frees any other, and tells of one that it cannot reach.
// Method: renewals are carried out and not answered, and the timer is late. Then Close looks first.
func TestCloseFreesTheLockOfAHoldWhoseTimeIsOver(t *testing.T) {
	t.Parallel()
	for what, fate := range map[string]stage.Fate{"reached": stage.Arrives, "not reached": stage.Lost} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				c := check.Must(redlatch.New(s.Driver, fixture.Quiet(redlatch.Config{})))
				s.Client = c // whose renewals are stalled below, and which the story does not close again
				h := check.Must(c.Mutex("job").Lock(t.Context()))
				time.Sleep(25 * time.Second) // it was renewed: the server knows the script
				s.Driver.Spoil(func([]string) stage.Fate { return stage.AnswerLost })
				time.Sleep(time.Until(h.Deadline()) - 20*time.Millisecond)
				resume := s.StallRenewals()
				time.Sleep(time.Until(h.Deadline()) + time.Millisecond)
				s.Driver.Spoil(func([]string) stage.Fate { return fate })
				closed := make(chan error, 1)
				go func() { closed <- c.Close(context.Background()) }()
				synctest.Wait()
				resume()
				err := <-closed
				s.Driver.Spoil(nil)
				if free := s.TTL("job") == 0; free != (err == nil) || free != (what == "reached") {
					t.Errorf("Close: %v, and the lock stays for %v", err, s.TTL("job"))
				}
				check.Is(t, "Err", h.Err(), redlatch.ErrLost)
			})
		})
	}
}
