package demo

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Goal: a signal also ends a demonstration in order that has not connected yet. Method: its context has ended.
func TestADemonstrationThatEndsBeforeItBeginsSaysSo(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sound, err := Run(ctx, Settings{Lease: time.Second}, &out, "none")
	if want := "interrupted before the first process was started\n"; !sound || err != nil || out.String() != want {
		t.Errorf("sound %v, %v, %q", sound, err, out.String())
	}
}
