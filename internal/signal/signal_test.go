package signal_test

import (
	"testing"
	"time"

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

func TestASimulationWakesLessOften(t *testing.T) {
	if d := signal.Interval(time.Second); d != time.Second {
		t.Errorf("an interval is %v without a simulation", d)
	}
	signal.Slow(60)
	defer signal.Slow(0)
	if d := signal.Interval(time.Second); d != time.Minute {
		t.Errorf("an interval is %v, want one that is 60 times as long", d)
	}
}
