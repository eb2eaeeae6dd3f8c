package redistest

import (
	"regexp"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// A goroutine that is about to end is looked at so often, with pauses of at least a second and a half together.
const (
	looks        = 65
	longestPause = 50 * time.Millisecond
)

// awaitedForEver are goroutines of the standard library that end with the process, and those that go-redis
// starts: a failover client that is closed while it dials listens to its Sentinel afterwards, for ever.
var awaitedForEver = regexp.MustCompile(`\n(os/signal\.(loop|signal_recv)|runtime\.ensureSigM|created by github\.com/redis/go-redis/)`)

// leftOver waits until no goroutine is left but the caller's. It returns the stacks of those that
// stay, or "".
func leftOver() string {
	stacks, backoff := "", pause.Backoff{First: time.Millisecond, Max: longestPause}
	for range looks {
		if stacks = otherStacks(); stacks == "" {
			return ""
		}
		time.Sleep(backoff.Next())
	}
	return otherStacks()
}

// otherStacks are the stacks of all goroutines but the caller's, which comes first in a dump.
func otherStacks() string {
	var dump strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&dump, 2) // which cannot fail
	_, others, _ := strings.Cut(dump.String(), "\n\n")
	var left []string
	for _, stack := range strings.SplitAfter(others, "\n\n") {
		if stack != "" && !awaitedForEver.MatchString(stack) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "")
}
