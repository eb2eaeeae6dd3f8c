package call_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// Goal: a server that comes back meets at most 150 of 1,000 clients within 100 ms. Method: the pauses of clients
// that lost it at one moment, 20 times.
func TestAThousandClientsComeBackOneAfterAnother(t *testing.T) {
	t.Parallel()
	for _, outage := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second} {
		most := 0
		for range 20 {
			most = max(most, crowd(1000, outage, 100*time.Millisecond))
		}
		if t.Logf("after %v: %d", outage, most); most > 150 {
			t.Errorf("after %v, %d clients come back within 100 ms, want 150 at most", outage, most)
		}
	}
}

// crowd is how many clients come back within a window, at most.
func crowd(clients int, outage, window time.Duration) (most int) {
	back, first := make([]time.Duration, clients), 0
	for i := range back {
		for backoff := call.Backoff(); back[i] < outage; {
			back[i] += backoff.Next()
		}
	}
	slices.Sort(back)
	for i, at := range back {
		for back[first] <= at-window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
