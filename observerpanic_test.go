package redlatch_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// What a panic of an observer costs: an entry in the log.

// panicking is an observer that panics at every event.
func panicking(context.Context, redlatch.Event) { panic("observer") }

// Goal: whatever is locked, the caller gets its hold, and nothing stays in Redis after its release.
// Method: the observer panics at every event, for ten minutes of renewals as well.
func TestAPanickingObserverCostsTheCallerNothing(t *testing.T) {
	for name, lock := range map[string]func(c *redlatch.Client) redlatch.Lock{
		"a mutex":              func(c *redlatch.Client) redlatch.Lock { return c.Mutex("a") },
		"a fair mutex":         func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("a") },
		"a multi by a script":  func(c *redlatch.Client) redlatch.Lock { return redlatch.NewMulti(c.Mutex("a"), c.Mutex("b")) },
		"a multi of all kinds": func(c *redlatch.Client) redlatch.Lock { return redlatch.NewMulti(c.RWMutex("a"), c.FairMutex("b")) },
		"a quorum":             func(c *redlatch.Client) redlatch.Lock { return redlatch.NewQuorum(c.Mutex("a")) },
	} {
		t.Run(name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				var log bytes.Buffer
				c := s.other(redlatch.Config{Observer: observer(panicking), RestartDelay: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				for _, ctx := range []context.Context{s.limited(), c.WithOwner(s.limited())} {
					hold := must(lock(c).Lock(ctx))
					time.Sleep(10 * time.Minute)
					if !hold.Valid() {
						t.Errorf("it has ended: %v", hold.Err())
					}
					if err := hold.Unlock(ctx); err != nil {
						t.Error(err)
					}
				}
				if keys := s.memory.Miniredis().Keys(); len(keys) > 0 {
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
	story(t, redlatch.Config{Observer: observer(panicking)}, func(t *testing.T, s *stage) {
		hold := must(s.client.Mutex("job").Lock(s.limited(), redlatch.WithLease(time.Second)))
		<-hold.Done()
		is(t, "Err", hold.Err(), redlatch.ErrLost)
		must(s.client.Mutex("job").Lock(s.limited()))
		synctest.Wait()
	})
}

// Goal: of several observers each is told, whichever of them panics.
func TestObserversAreAllToldIfOneOfThemPanics(t *testing.T) {
	for i := range 3 {
		told := 0
		each := make([]redlatch.Observer, 4) // the last one is nil
		for j := range 3 {
			each[j] = observer(func(ctx context.Context, e redlatch.Event) {
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
