package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
)

func TestTheFleetRunsEachTimeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Count(got, "runs the job") < 8 || strings.Count(got, " missed ") < 1 || strings.Count(got, " ends") != 3 {
			t.Errorf("it printed:\n%s", got)
		}
	})
}
