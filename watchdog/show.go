package watchdog

import (
	"strconv"
	"strings"
	"unicode"
)

// longestShown is how much of a text from Redis stands in a log, in bytes.
const longestShown = 200

// shown is a text that somebody wrote into Redis, or that a server answered, for a log: in
// one line, and short. It is quoted unless it has only what a sound one has.
func shown(text string) string {
	cut := text[:min(len(text), longestShown)]
	odd := func(r rune) bool { return r == unicode.ReplacementChar || r == '"' || !unicode.IsPrint(r) }
	switch {
	case len(cut) < len(text):
		return strconv.Quote(cut) + "…"
	case strings.ContainsFunc(text, odd):
		return strconv.Quote(text)
	}
	return text
}
