package kinds_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

func TestCloseTakesTheNotesAway(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort != scene.Cohort }, redlatch.Config{}, func(s *scene.Scene) {
		p := s.Other(redlatch.Config{})
		check.Must(p.Lock.Lock(s.Context(), redlatch.WithNote("n")))
		time.Sleep(time.Second)
		check.Is(s.T, "Close", p.Close(), nil)
		time.Sleep(time.Second)
		if all := notes(s); all != nil {
			s.Error("left after Close:", all)
		}
	})
}

// notes are the keys beside locks.
func notes(s *scene.Scene) (all []string) {
	for _, p := range s.Posts {
		for _, key := range p.Memory.Miniredis().Keys() {
			if strings.HasPrefix(key, "redlatch:note:") {
				all = append(all, fmt.Sprintf("%q %v", key, p.Memory.Miniredis().TTL(key)))
			}
		}
	}
	return all
}
