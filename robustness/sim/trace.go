package sim

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"time"
)

// trace is everything that happened, line by line, and the hash of that.
type trace struct {
	began time.Time
	sum   hash.Hash64
	lines []string
}

func newTrace() trace { return trace{began: time.Now(), sum: fnv.New64a()} }

func (t *trace) add(now time.Time, what string) {
	line := fmt.Sprintf("%16.9f  %s", now.Sub(t.began).Seconds(), what)
	_, _ = io.WriteString(t.sum, line)
	t.lines = append(t.lines, line)
}
