package signal_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/signal"
)

func TestASignalWaitsForItsReceiverAndStandsForThoseAfterIt(t *testing.T) {
	t.Parallel()
	c := make(chan struct{}, 1)
	signal.Send(c)
	signal.Send(c)
	if len(c) != 1 {
		t.Errorf("%d signals wait, want 1", len(c))
	}
}
