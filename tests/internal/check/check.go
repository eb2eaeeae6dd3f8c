// Package check has the checks that the themes share.
package check

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
)

// NothingIn fails for each hold, waiter and loss of these clients.
func NothingIn(t *testing.T, clients []*redlatch.Client) {
	t.Helper()
	for _, c := range clients {
		if st := c.Stats(); st.Holds != 0 || st.Waiters != 0 || st.Losses != 0 {
			t.Errorf("left over: %+v", st)
		}
	}
}

func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Within fails unless got lies in [low, high].
func Within[T int | int64 | time.Duration](t *testing.T, what string, got, low, high T) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s is %v, want between %v and %v", what, got, low, high)
	}
}

// Is fails unless err matches each of the targets.
func Is(t *testing.T, what string, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%s is %v, want one that matches %v", what, err, target)
		}
	}
}

func ErrOf[T any](_ T, err error) error { return err }
