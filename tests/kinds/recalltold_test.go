package kinds_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

func TestToldMeansThatTheHolderKnows(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return slices.Contains([]string{"mutex", "write", "read"}, k.Name) }, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Context()
		h := check.Must(s.Home.Lock.Lock(ctx, redlatch.WithLease(time.Hour)))
		waits, leave := context.WithCancel(ctx)
		left := make(chan error)
		go func() { _, err := s.Home.Rival.Lock(waits); left <- err }()
		time.Sleep(2 * time.Second)
		s.Spoil(func() func([]string) stage.Fate { return func([]string) stage.Fate { return stage.AnswerLost } })
		ask(s, s.Stranger(), h, "")
		time.Sleep(time.Minute)
		s.Net(nil)
		time.Sleep(time.Minute)
		if strings.Contains(s.Redis(), "told=1") && !isClosed(h.Recalled()) {
			s.Error("Redis says that the holder knows, and it does not")
		}
		leave()
		<-left
		s.Home.Free(h)
		s.Posts[0].Memory.Miniredis().Del("redlatch:note:{job}:" + h.Owner()) // which is to end with the lease otherwise
	})
}
