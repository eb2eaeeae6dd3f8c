package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

// TestMain makes the test binary a process of the pool if it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(urlVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLongTheProgramShowsAPoolThatSharesPermits(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := show(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	want := `^.*s  100 workers in 4 processes share 5 permits\n.* 5 of 5 permits are in use: .*\n.* (\w+) is killed with \d permits, .*\n` +
		`.* they are back: 5 of 5 .*\n.* \+3 permits: .*\n.* 8 of 8 .*\n.* -6 permits: -\d are available\n.* 2 of 2 .*\n` +
		`.* \d+ jobs are done: [1-5] at a time at most, then [1-8], then [12]; 2 permits are available\n$`
	if !regexp.MustCompile(want).MatchString(out.String()) {
		t.Errorf("it printed:\n%s", out.String())
	}
}
