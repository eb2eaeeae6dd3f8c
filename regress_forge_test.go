package redlatch_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/redlatch/redlatch"
)

// An error names who holds the lock, whatever that one is called.
func TestErrorsAreOneShortLineWhoeverHoldsTheLock(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		for _, owner := range []string{"x\nlock: free", "\x1b[2K", "x\u202e", "\xff", strings.Repeat("long", 1<<11)} {
			s.occupy(k, owner)
			_, err := k.lock(s.client, "job").TryLock(s.limited())
			is(t, "TryLock", err, redlatch.ErrNotAcquired)
			text := err.Error()
			if len(text) > 1000 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
				t.Errorf("behind %.20q the error has %d bytes: %.1000q", owner, len(text), text)
			}
			s.memory.Miniredis().FlushAll()
		}
	})
}
