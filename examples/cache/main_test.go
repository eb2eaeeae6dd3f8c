package main

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
)

// Goal: many read, and each second one refreshes.
func TestOneRefreshesAndManyRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		var reads, of, refreshes int
		if _, err := fmt.Sscanf(out.String(), "%d reads by %d processes, %d refreshes\n", &reads, &of, &refreshes); err != nil {
			t.Fatalf("it printed %q", out.String())
		}
		if reads < 350 || of != processes || refreshes < 5 || refreshes > 6 {
			t.Errorf("it printed %q", out.String())
		}
	})
}
