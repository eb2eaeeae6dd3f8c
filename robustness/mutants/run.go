package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// limit bounds one run of go test, the build included; hang bounds the tests themselves.
const (
	limit = 10 * time.Minute
	hang  = 90 * time.Second
)

// verdict is what became of a mutant.
type verdict struct {
	survived []string // the tests that passed
	wrong    error    // with the entry
	output   string
	took     time.Duration
}

// try runs the tests of a mutant on the code that has it.
func (m mutant) try(ctx context.Context, b *binaries) (v verdict) {
	began := time.Now()
	run := m.tryCode
	if m.isScript() {
		run = m.tryScript
	}
	_, names := m.split()
	output, err := run(ctx, b)
	v = judge(names, output, err)
	v.took = time.Since(began)
	return v
}

// tryCode is try for a mutant of Go code.
func (m mutant) tryCode(ctx context.Context, b *binaries) (output string, err error) {
	text, err := m.apply(b.tree)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(b.scratch, "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	overlay, err := writeOverlay(scratch, map[string]string{filepath.Join(b.tree, m.file): text})
	if err != nil {
		return "", err
	}
	folder, names := m.split()
	return goTest(ctx, b.tree, folder, names, hang, "-overlay", overlay)
}

// writeOverlay writes the texts that go build is to read instead of files, or beside them.
func writeOverlay(scratch string, texts map[string]string) (overlay string, err error) {
	replace := make(map[string]string)
	for file, text := range texts {
		replace[file] = filepath.Join(scratch, filepath.Base(file))
		if err := os.WriteFile(replace[file], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay = filepath.Join(scratch, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// goTest builds and runs tests of one package, and returns all that was printed. The error says
// how the command ended.
func goTest(ctx context.Context, tree, folder string, names []string, hang time.Duration, flags ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"test", "-vet=off", "-ldflags=-s -w"}, flags...)
	args = append(append(args, folder), testFlags("-", filepath.Join(tree, folder), names, hang)...)
	var output bytes.Buffer
	command := exec.CommandContext(limited, "go", args...)
	command.Dir, command.Stdout, command.Stderr = tree, &output, &output
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	err := errors.Join(command.Run(), limited.Err())
	return output.String(), err
}

// testFlags are those of a run of some tests, as go test takes them or, with a prefix, a test binary.
func testFlags(prefix, folder string, names []string, hang time.Duration) []string {
	flags := []string{prefix + "count=1", prefix + "v=true", prefix + "timeout=" + hang.String(), prefix + "run=^(" + strings.Join(names, "|") + ")$"}
	if findsByChance(folder) {
		flags = append(flags, "-rapid.nofailfile") // what fails here says nothing about the code
	}
	return flags
}

// findsByChance says whether tests of a folder use rapid, which writes down what failed.
func findsByChance(folder string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := os.ReadFile(file)
		return bytes.Contains(text, []byte(`"pgregory.net/rapid"`))
	})
}

// wrongReasons are outputs of a test that fails for another reason than what the entry says, and
// what that reason is.
var wrongReasons = []struct {
	seen *regexp.Regexp
	what string
}{
	{regexp.MustCompile(`(?m)\[(build|setup) failed\]`), "it does not compile"},
	{regexp.MustCompile(`syntax error|attempt to (index|call|perform|compare|concatenate)|command arguments must be strings`), "it is no good Lua"},
	{regexp.MustCompile(`(?m)^panic: test timed out`), "a test hangs"},
	{regexp.MustCompile(`(?m)^(panic|fatal error|SIGSEGV)`), "a test panics"},
	{regexp.MustCompile(`no tests to run`), "no test ran"},
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// judge reads the output of tests that have to fail.
func judge(names []string, output string, ended error) verdict {
	v := verdict{output: output}
	for _, reason := range wrongReasons {
		if reason.seen.MatchString(output) {
			v.wrong = fmt.Errorf("%s", reason.what)
			return v
		}
	}
	red := make(map[string]bool)
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		red[found[1]] = true
	}
	for _, name := range names {
		if !red[name] {
			v.survived = append(v.survived, name)
		}
	}
	if len(red) == 0 && ended != nil {
		v.wrong = fmt.Errorf("no test failed, and go test did: %w", ended)
	}
	return v
}
