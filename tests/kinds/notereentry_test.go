package kinds_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

func TestANoteLastsAsLongAsAReentryHasTheLockLast(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort == scene.One && k.CanReenter() }, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		h := check.Must(s.Home.Lock.Lock(ctx, redlatch.WithNote("deploy"), redlatch.WithLease(10*time.Second)))
		time.Sleep(time.Second)
		again := check.Must(s.Home.Lock.Lock(ctx, redlatch.WithLease(time.Hour)))
		time.Sleep(20 * time.Second)
		check.Is(s.T, "the hold", again.Err(), nil)
		if !strings.Contains(s.Redis(), "note=deploy") {
			s.Error("the lock is held, and has no note:", s.Redis())
		}
		s.Home.Free(again)
		s.Home.Free(h)
	})
}
