package fence

import (
	"context"
	"testing"
)

// Goal: clients do not decide how much a process remembers of resources that are not in use.
func TestAResourceThatIsNotInUseHasNoRoom(t *testing.T) {
	t.Parallel()
	all := sequencer{states: make(map[resource]*state)}
	at := resource{new(Memory), "r"}
	if err := all.enter(t.Context(), 33, at); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := all.enter(ended, 34, at); err == nil {
		t.Error("34 runs together with 33")
	}
	if len(all.states) != 1 {
		t.Errorf("%d states, want that of 33", len(all.states))
	}
	all.leave(at)
	if len(all.states) != 0 {
		t.Errorf("%d states when all have left", len(all.states))
	}
}
