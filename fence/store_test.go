package fence_test

import (
	"errors"
	"testing"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
)

func TestMemoryRefusesAStaleHolder(t *testing.T) {
	t.Parallel()
	fencetest.Keeps(t, new(fence.Memory))
}

func TestMemoryOfAnotherProcessKnowsNothing(t *testing.T) {
	t.Parallel()
	var before, after fence.Memory
	if err := before.Pass(t.Context(), 2, "r"); err != nil {
		t.Fatal(err)
	}
	if err := after.Pass(t.Context(), 1, "r"); err != nil {
		t.Errorf("the documented gap has closed: %v", err)
	}
}

func TestStaleErrorIsOneConditionAlone(t *testing.T) {
	t.Parallel()
	err := error(&fence.StaleError{Token: 33, Last: 34})
	for _, other := range []error{fence.ErrNoToken, fence.ErrNoRow, fence.ErrConflict} {
		if errors.Is(err, other) {
			t.Errorf("a stale token matches %v", other)
		}
	}
	if got, want := err.Error(), "stale token: 33, and 34 has passed"; got != want {
		t.Errorf("the error says %q, want %q", got, want)
	}
}
