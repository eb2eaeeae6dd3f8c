package main

import (
	"bytes"
	"regexp"
	"testing"
	"testing/synctest"
)

// Goal: nobody leads before the former leader has stopped.
func TestTheProgramShowsTwoFailovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		if err := run(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		want := `^ *\S+s  \w+ leads in term 1\n.* is cut off.*\n.* leads no more\n.* leads in term 2\n.* is cut off.*\n.* leads no more\n.* leads in term 3\n.*asked to end\n.* leads no more\n$`
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("it printed:\n%s", out.String())
		}
	})
}
