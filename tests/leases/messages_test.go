package leases_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: an error names its cause. The end of a time that the caller has set is no outage, and a key that somebody holds
// as another kind of lock is no damaged one.
func TestAnErrorNamesItsCause(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx := t.Context()
		for name, opt := range map[string]redlatch.LockOption{
			"its fixed lease has ended":   redlatch.WithLease(time.Second),
			"its longest time has passed": redlatch.WithMaxHold(time.Second),
		} {
			h := check.Must(s.Client.Mutex("timed").Lock(ctx, opt))
			time.Sleep(2 * time.Second)
			if err := h.Err(); !errors.Is(err, redlatch.ErrLost) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "confirmed") {
				t.Errorf("want %q: %v", name, err)
			}
		}
		held := check.Must(s.Client.Mutex("kind").Lock(ctx))
		_, err := s.Client.RWMutex("kind").TryRLock(ctx)
		if !errors.Is(err, redlatch.ErrWrongType) || !strings.Contains(err.Error(), "it is held as a mutex") {
			t.Errorf("a key that is held as a mutex: %v", err)
		}
		check.Is(t, "Unlock", held.Unlock(ctx))
		_ = check.Must(s.Client.RWMutex("kind").Lock(ctx))
		if _, err = s.Client.Mutex("kind").TryLock(ctx); !errors.Is(err, redlatch.ErrWrongType) || !strings.Contains(err.Error(), "it is a read-write lock") {
			t.Errorf("a key that is held as a read-write lock: %v", err)
		}
	})
}
