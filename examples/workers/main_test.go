package main

import (
	"bytes"
	"regexp"
	"testing"
	"testing/synctest"
)

// Goal: as many work at a time as there are permits, also after a process is cut off.
func TestTheProgramShowsAPoolThatSharesPermits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		want := `^.* 100 workers in 4 processes share 5 permits\n.* 5 work .*\n.* cut off.*\n.* 5 work .*\n.* \+3 permits\n.* 8 work .*\n.* -6 permits\n.* 2 work .*\n$`
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("it printed:\n%s", out.String())
		}
	})
}
