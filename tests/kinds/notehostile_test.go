package kinds_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

func TestAHostileNoteIsOneShortLine(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return slices.Contains([]string{"mutex", "fair", "write"}, k.Name) }, redlatch.Config{}, func(s *scene.Scene) {
		for _, text := range []string{strings.Repeat("x", 1<<20), "\x1b[2J\nroot", "\xff\xfe"} {
			h := check.Must(s.Home.Lock.Lock(s.Context()))
			s.Posts[0].Memory.Miniredis().HSet("redlatch:note:{job}:"+h.Owner(), "note", text)
			_, err := s.Stranger().Rival.TryLock(s.Context())
			seen, ok := errors.AsType[*redlatch.NotAcquiredError](err)
			if !ok {
				s.Fatal(err)
			}
			if len(seen.Note) > 300 || strings.ContainsAny(seen.Note, "\x1b\n") || !utf8.ValidString(seen.Note) {
				s.Errorf("NotAcquiredError.Note has %d bytes: %.20q", len(seen.Note), seen.Note)
			}
			if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\x1b\n") {
				s.Errorf("%.40q", err.Error())
			}
			s.Home.Free(h)
			s.Posts[0].Memory.Miniredis().Del("redlatch:note:{job}:" + h.Owner())
		}
	})
}
