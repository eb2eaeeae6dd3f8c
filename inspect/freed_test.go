package inspect

import (
	"testing"
	"time"
)

// Goal: a free lock whose key becomes data, or that is read no more for another reason, takes no room
// among the free locks that are remembered.
func TestAFreeLockThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	f, now := follower{freed: make(map[string]time.Time)}, time.Now()
	f.keep(map[string]Lock{"a": {Name: "a"}}, now)
	if len(f.freed) != 1 {
		t.Fatalf("it remembers %v", f.freed)
	}
	f.keep(map[string]Lock{}, now)
	if len(f.freed) != 0 {
		t.Errorf("it remembers %v", f.freed)
	}
}
