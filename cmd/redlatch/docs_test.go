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

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the commands of the documentation do what it says. Method: run each line of these pages that begins
// with a dollar, and each of the README that begins with redlatch, and compare its exit code with the one
// behind it, or 0.
func TestLongTheSnippetsOfTheDocumentationRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	dir, env := shell(t, server)
	lines := snippets(t, "../../README.md", `redlatch `, 2)
	lines = append(lines, snippets(t, "../../docs/cli.md", `\$ `, 10)...)
	lines = append(lines, snippets(t, "../../docs/inspect.md", `\$ `, 6)...)
	lines = append(lines, snippets(t, "../../docs/deadlocks.md", `\$ `, 1)...)
	for name, want := range map[string]int{"tickets": 4, "recall": 2} {
		page, err := os.ReadFile("../../docs/" + name + ".md")
		scripts := regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(string(page), -1)
		if err != nil || len(scripts) != want {
			t.Fatalf("the page on %s has %d scripts: %v", name, len(scripts), err)
		}
		for _, script := range scripts {
			lines = append(lines, snippet{text: "set -e\n" + script[1]})
		}
	}
	for _, line := range lines {
		output, state := runLine(t, line.text, dir, env)
		if got := shellCode(state); got != line.code {
			t.Errorf("%s: exit code %d, want %d:\n%s", line.text, got, line.code, output)
		}
	}
}

// Goal: what getting-started.md shows as the output of a command is its output while the program of that page
// runs, and without the process when that has died. Method: run the command, and compare what does not differ
// from time to time.
//
// Of other pages no output is compared here: the end of demo --pause in the README has a drawing that differs
// each time, testdata/deadlocks.txtar has the lines of the cycle in deadlocks.md, and tables quote messages.
func TestTheOutputsOfTheDocumentationAreReal(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	dir, env := shell(t, server)
	client := redistest.Must(redlatch.Open(t.Context(), server.URL(), redlatch.Config{Name: "order@host:4711"}))
	hold := redistest.Must(client.Mutex("order:1001").Lock(t.Context()))
	shown := outputs(t, "../../docs/getting-started.md")
	if len(shown) != 1 {
		t.Fatalf("the page shows %d outputs", len(shown))
	}
	line, want := shown[0].text, timeless(shown[0].output)
	if output, _ := runLine(t, line, dir, env); timeless(string(output)) != want {
		t.Errorf("%s prints\n%s, and the page shows\n%s", line, timeless(string(output)), want)
	}

	hold.Detach() // as if the process had died
	if err := client.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want = strings.Replace(want, " (order@host:4711)", "", 1)
	if output, _ := runLine(t, line, dir, env); timeless(string(output)) != want {
		t.Errorf("after the death of the process %s prints\n%s, want\n%s", line, timeless(string(output)), want)
	}
}

// Goal: verify.md shows what verify prints. Method: run it on the events of testdata/verify.txtar.
func TestTheOutputOfVerifyIsReal(t *testing.T) {
	t.Parallel()
	shown := outputs(t, "../../docs/verify.md")
	events, err := txtar.ParseFile("testdata/verify.txtar")
	if err != nil || len(shown) != 1 {
		t.Fatal(err, shown)
	}
	dir, env := shell(t, redistest.Shared(t))
	for _, f := range events.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if output, _ := runLine(t, shown[0].text, dir, env); string(output) != shown[0].output {
		t.Errorf("%s prints\n%s, and the page shows\n%s", shown[0].text, output, shown[0].output)
	}
}

// shell is where redlatch is the command, and the server its default.
func shell(t *testing.T, server *redistest.Server) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "report.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, append(os.Environ(), commandEnv(t, server)...)
}

// runLine runs a line in a shell.
func runLine(t *testing.T, line, dir string, env []string) ([]byte, *os.ProcessState) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, env
	output, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return output, cmd.ProcessState
}

// shownCommand is a command of a page, and what the page shows below it.
type shownCommand struct{ text, output string }

// outputs finds the commands of a page with an output below them.
func outputs(t *testing.T, file string) (all []shownCommand) {
	t.Helper()
	text := redistest.Must(os.ReadFile(file))
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		for part := range strings.SplitSeq("\n"+block[1], "\n$ ") {
			if command, output, _ := strings.Cut(part, "\n"); command != "" && strings.TrimSpace(output) != "" {
				all = append(all, shownCommand{command, output})
			}
		}
	}
	return all
}

// timeless is an output without what is different each time: client ids and the seconds that are left.
func timeless(output string) string {
	for pattern, same := range map[string]string{
		`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`: "ID",
		`\b[0-9.]+m?s left`:                         "some time left",
	} {
		output = regexp.MustCompile(pattern).ReplaceAllString(output, same)
	}
	return strings.TrimSpace(output)
}

// snippet is a line of a document, and the exit code that it promises.
type snippet struct {
	text string
	code int
}

// snippets finds the lines that begin in that way, and at least so many of them.
func snippets(t *testing.T, file, begin string, least int) []snippet {
	t.Helper()
	text := redistest.Must(os.ReadFile(file))
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
