package kinds_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

func TestARecallAsksOwnersAlone(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return slices.Contains([]string{"write", "read"}, k.Name) }, redlatch.Config{}, func(s *scene.Scene) {
		h := check.Must(s.Home.Lock.Lock(s.Context()))
		l := s.Stranger().Clients[0].RWMutex("job")
		if asked, err := l.Recall(s.Context(), "mode", "r"); asked || err != nil {
			s.Errorf("the mode of a lock was asked: %v %v", asked, err)
		}
		if s.Kind.Name == "write" {
			asked, err := l.Recall(s.Context(), h.Owner()+":write", "r")
			time.Sleep(15 * time.Second)
			if asked && !isClosed(h.Recalled()) {
				s.Errorf("asked by the field, which nobody hears: %v %v", asked, err)
			}
		}
		s.Home.Free(h)
	})
}
