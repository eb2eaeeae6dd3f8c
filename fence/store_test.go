package fence_test

import (
	"errors"
	"testing"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// storeKeeps is what every store promises.
func storeKeeps(t *testing.T, store fence.Store) {
	t.Helper()
	of := func(resource string) passFunc {
		return func(token int64) error { return store.Pass(t.Context(), token, resource) }
	}
	refuses(t, of(redistest.Name(t)))

	one, other := of(redistest.Name(t)), of(redistest.Name(t)+" 'quoted\" {tag}")
	passes(t, one, 9)
	passes(t, other, 1) // each resource has tokens of its own
	wantStale(t, one(8), 8, 9)

	shared := of(redistest.Name(t))
	_, newest := crowd(t, 8, 40, shared)
	wantStale(t, shared(newest-1), newest-1, newest)
	passes(t, shared, newest)
}

func TestMemoryRefusesAStaleHolder(t *testing.T) {
	t.Parallel()
	storeKeeps(t, new(fence.Memory))
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
