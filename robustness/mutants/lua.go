package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Scripts are data to Go. So all mutants of scripts share one build for each package of tests, in
// which package script changes what it reads as the environment says.

const (
	scriptFolder = "internal/script"
	reads        = "return string(text)" // in script.go, where a script has been read
	readsMutated = "return mutated(file, string(text))"
)

const mutatedFile = `package script

import (
	"os"
	"strings"
)

func mutated(file, text string) string {
	if file != os.Getenv("MUTANT_FILE") {
		return text
	}
	return strings.Replace(text, os.Getenv("MUTANT_OLD"), os.Getenv("MUTANT_NEW"), 1)
}
`

// binaries are test binaries in which scripts can be changed, by folder.
type binaries struct {
	tree, scratch string

	mu    sync.Mutex
	built map[string]func() (string, error)
}

// of returns the binary with the tests of a folder.
func (b *binaries) of(ctx context.Context, folder string) (string, error) {
	b.mu.Lock()
	build := b.built[folder]
	if build == nil {
		build = sync.OnceValues(func() (string, error) { return b.build(ctx, folder) })
		b.built[folder] = build
	}
	b.mu.Unlock()
	return build()
}

func (b *binaries) build(ctx context.Context, folder string) (binary string, err error) {
	script := filepath.Join(b.tree, scriptFolder)
	text, err := os.ReadFile(filepath.Join(script, "script.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), reads); n != 1 {
		return "", fmt.Errorf("script.go has %q %d times, not once", reads, n)
	}
	scratch, err := os.MkdirTemp(b.scratch, "build")
	if err != nil {
		return "", err
	}
	overlay, err := writeOverlay(scratch, map[string]string{
		filepath.Join(script, "script.go"):  strings.Replace(string(text), reads, readsMutated, 1),
		filepath.Join(script, "mutated.go"): mutatedFile,
	})
	if err != nil {
		return "", err
	}
	binary = filepath.Join(scratch, "tests")
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, folder)
	command.Dir = b.tree
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, output)
	}
	return binary, nil
}

func (m mutant) isScript() bool { return filepath.Ext(m.file) != ".go" }

// tryScript is try for a mutant of a script.
func (m mutant) tryScript(ctx context.Context, b *binaries) (output string, err error) {
	folder, names := m.split()
	binary, err := b.of(ctx, folder)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	command := exec.CommandContext(limited, binary, testFlags("-test.", filepath.Join(b.tree, folder), names, hang)...)
	command.Env = append(os.Environ(), "MUTANT_FILE="+filepath.Base(m.file), "MUTANT_OLD="+m.old, "MUTANT_NEW="+m.new)
	command.Dir = filepath.Join(b.tree, folder)
	printed, err := command.CombinedOutput()
	return string(printed), errors.Join(err, limited.Err())
}
