package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// TestTheSnippetsOfTheDocumentationRun runs each line of docs/cli.md that begins with a
// dollar, and compares its exit code with the one behind it, or 0.
func TestTheSnippetsOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "redlatch")); err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^\$ (.*?)(?:\s+# (\d+))?$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) < 10 {
		t.Fatalf("found only %d lines to run", len(lines))
	}
	for _, line := range lines {
		want, _ := strconv.Atoi(line[2])
		cmd := exec.Command("sh", "-c", line[1])
		cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0", "REDLATCH_REDIS="+server.URL(), "PATH="+bin+":"+os.Getenv("PATH"))
		output, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d:\n%s", line[1], got, want, output)
		}
	}
}
