package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

// TestMain makes the test binary a candidate if it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(urlVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestLongTheProgramShowsTwoFailovers(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := show(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := `^ *\S+s  (\w+) leads in term 1\n.* (\w+) is killed.*\n.* leads in term 2\n.*is killed.*\n.* leads in term 3\n.*asked to end\n.*released the lock\n$`
	if !regexp.MustCompile(want).MatchString(out.String()) {
		t.Errorf("it printed:\n%s", out.String())
	}
}
