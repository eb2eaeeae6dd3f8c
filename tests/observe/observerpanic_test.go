package observe_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What a panic of an observer costs: an entry in the log.

// panicking is an observer that panics at every event.
func panicking(context.Context, redlatch.Event) { panic("observer") }

// Goal: whatever is locked, the caller gets its hold, and nothing stays in Redis after its release.
// Method: the observer panics at every event, for ten minutes of renewals as well.
func TestAPanickingObserverCostsTheCallerNothing(t *testing.T) {
	for name, lock := range map[string]func(c *redlatch.Client) redlatch.Lock{
		"a mutex":      func(c *redlatch.Client) redlatch.Lock { return c.Mutex("a") },
		"a fair mutex": func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("a") },
		"a multi by a script": func(c *redlatch.Client) redlatch.Lock {
			return check.Must(redlatch.NewMulti(c.Mutex("a"), c.Mutex("b")))
		},
		"a multi of all kinds": func(c *redlatch.Client) redlatch.Lock {
			return check.Must(redlatch.NewMulti(c.RWMutex("a"), c.FairMutex("b")))
		},
		"a quorum": func(c *redlatch.Client) redlatch.Lock { return check.Must(redlatch.NewQuorum(c.Mutex("a"))) },
	} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				var log bytes.Buffer
				c := s.Other(redlatch.Config{Observer: fixture.Observer(panicking), RestartDelay: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				for _, ctx := range []context.Context{s.Limited(), c.WithOwner(s.Limited())} {
					hold := check.Must(lock(c).Lock(ctx))
					time.Sleep(10 * time.Minute)
					if !hold.Valid() {
						t.Errorf("it has ended: %v", hold.Err())
					}
					if err := hold.Unlock(ctx); err != nil {
						t.Error(err)
					}
				}
				if keys := s.Memory.Miniredis().Keys(); len(keys) > 0 {
					t.Errorf("%q stay in Redis: %+v", keys, c.Stats())
				}
				synctest.Wait()
				if said := strings.Count(log.String(), "the observer panicked"); said < 4 {
					t.Errorf("the log tells of %d panics", said)
				}
			})
		})
	}
}

// Goal: the process survives a panic in a goroutine of the client: for a loss, and for Close.
func TestAPanickingObserverOfALossEndsNoProcess(t *testing.T) {
	stage.Story(t, redlatch.Config{Observer: fixture.Observer(panicking)}, func(t *testing.T, s *stage.Stage) {
		hold := check.Must(s.Client.Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Second)))
		<-hold.Done()
		check.Is(t, "Err", hold.Err(), redlatch.ErrLost)
		check.Must(s.Client.Mutex("job").Lock(s.Limited()))
		synctest.Wait()
	})
}

// Goal: of several observers each is told, whichever of them panics.
func TestObserversAreAllToldIfOneOfThemPanics(t *testing.T) {
	for i := range 3 {
		told := 0
		each := make([]redlatch.Observer, 4) // the last one is nil
		for j := range 3 {
			each[j] = fixture.Observer(func(ctx context.Context, e redlatch.Event) {
				told++
				if i == j {
					panicking(ctx, e)
				}
			})
		}
		func() {
			defer func() { _ = recover() }()
			redlatch.Observers(each...).Observe(t.Context(), redlatch.Event{})
		}()
		if told != 3 {
			t.Errorf("observer %d panicked, and %d of 3 were told", i, told)
		}
	}
}
