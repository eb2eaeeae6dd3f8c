package inspect

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a pattern chooses the same names here and in Redis. Method: random patterns and names of few
// letters; the server says by KEYS which it matches.
func TestPatternsMatchAsInRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	text := func(letters string, most int) string {
		var b strings.Builder
		for range 1 + random.IntN(most) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	names := make(map[string]bool)
	for range 300 {
		name := text("ab-]^*\\", 5)
		names[name] = true
		s.CLI(t, "SET", name, "1")
	}
	for range 3000 {
		pattern := text("ab*?[]^-\\", 7)
		if strings.HasSuffix(pattern, `\`) || openClass(pattern) {
			_ = match(pattern, "ab-") // releases of Redis differ, so it only has to return
			continue
		}
		matched := make(map[string]bool)
		for _, name := range s.Keys(t, pattern) {
			matched[name] = true
		}
		for name := range names {
			if match(pattern, name) != matched[name] {
				t.Fatalf("pattern %q, name %q: %v, and Redis says %v", pattern, name, !matched[name], matched[name])
			}
		}
	}
}

// openClass says that a class has no end.
func openClass(pattern string) bool {
	inside := false
	for n := 0; n < len(pattern); n++ {
		switch {
		case pattern[n] == '\\':
			n++
		case pattern[n] == '[' && !inside:
			inside = true
		case pattern[n] == ']' && inside:
			inside = false
		}
	}
	return inside
}

// Goal: no pattern takes long.
func TestAPatternTakesBoundedTime(t *testing.T) {
	t.Parallel()
	if match(strings.Repeat("*a", 2000)+"b", strings.Repeat("a", 20_000)) {
		t.Error("it matches")
	}
}
