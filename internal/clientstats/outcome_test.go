package clientstats_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clientstats"
)

// An outcome that is not known wins over the end of the wait: the lock may be held.
func TestOutcomesTellErrorsApart(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"acquired":       nil,
		"not_acquired":   fmt.Errorf("x: %w", redlatch.ErrNotAcquired),
		"unknown":        errors.Join(redlatch.ErrNotAcquired, redlatch.ErrUnknownOutcome),
		"not_replicated": redlatch.ErrNotReplicated,
		"closed":         redlatch.ErrClosed,
		"failed":         errors.New("connection refused"),
	} {
		if got := clientstats.Outcome(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
