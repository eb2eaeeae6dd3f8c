package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// TestTheSnippetsOfTheDocumentationRun runs each line of docs/cli.md that begins with a
// dollar, and each of the README that begins with redlatch, and compares its exit code with
// the one behind it, or 0.
func TestTheSnippetsOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "redlatch")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, line := range append(snippets(t, "../../docs/cli.md", `\$ `, 10), snippets(t, "../../README.md", `redlatch `, 2)...) {
		cmd := exec.Command("sh", "-c", line.text)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0", "REDLATCH_REDIS="+server.URL(), "PATH="+dir+":"+os.Getenv("PATH"))
		output, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := shellCode(cmd.ProcessState); got != line.code {
			t.Errorf("%s: exit code %d, want %d:\n%s", line.text, got, line.code, output)
		}
	}
}

// snippet is a line of a document, and the exit code that it promises.
type snippet struct {
	text string
	code int
}

// snippets finds the lines that begin in that way, and at least so many of them.
func snippets(t *testing.T, file, begin string, least int) []snippet {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []snippet
	for _, line := range regexp.MustCompile(`(?m)^`+begin+`.*?(?:\s+# (\d+))?$`).FindAllStringSubmatch(string(text), -1) {
		code, _ := strconv.Atoi(line[1])
		all = append(all, snippet{strings.TrimPrefix(line[0], "$ "), code})
	}
	if len(all) < least {
		t.Fatalf("%s has %d lines to run, and should have at least %d", file, len(all), least)
	}
	return all
}
