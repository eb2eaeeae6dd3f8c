package clientstats

import (
	"errors"

	"github.com/redlatch/redlatch"
)

// outcomes are the values for what became of a wait. An outcome that is not known wins: the lock may be held.
var outcomes = []struct {
	err   error
	value string
}{
	{nil, "acquired"},
	{redlatch.ErrUnknownOutcome, "unknown"},
	{redlatch.ErrNotAcquired, "not_acquired"},
	{redlatch.ErrNotReplicated, "not_replicated"},
	{redlatch.ErrClosed, "closed"},
}

// Outcome is the value for what became of a wait.
func Outcome(err error) string {
	for _, known := range outcomes {
		if errors.Is(err, known.err) {
			return known.value
		}
	}
	return "failed"
}

// End is the value for the end of a hold.
func End(e redlatch.Event) string {
	if e.Loss != "" {
		return "lost"
	}
	return string(e.Kind)
}
