package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// laboratory has one build of the chosen mutants for each package of tests.
type laboratory struct {
	tree, scratch, overlay string

	patience time.Duration       // with a mutant, beside three times what its tests take on the code as it is
	named    map[string][]string // by folder, the tests that entries by hand name; none: all run

	mu     sync.Mutex
	suites map[string]func() (*suite, error)
}

// suite is the tests of one package, built with all chosen mutants.
type suite struct {
	folder, binary string
	flags          []string
	skip           string         // tests, as a pattern
	limit          time.Duration  // for one run; a mutant that takes longer hangs
	sign           *regexp.Regexp // of a failure; nil: that of a test, which ends a run of all tests on a mutant
}

// prepare writes the texts that go build is to read instead of files, or beside them.
func prepare(tree, scratch string, loaded []*room, chosen []mutant) (l *laboratory, err error) {
	replace := make(map[string]string)
	for _, r := range loaded {
		mutants := slices.DeleteFunc(slices.Clone(chosen), func(m mutant) bool { return filepath.Dir(m.file) != r.folder })
		if len(mutants) == 0 {
			continue
		}
		texts, err := r.woven(mutants)
		if err != nil {
			return nil, err
		}
		for name, text := range texts {
			if text == r.texts[name] {
				continue
			}
			copied := filepath.Join(scratch, fmt.Sprint(len(replace), ".go"))
			replace[filepath.Join(tree, name)] = copied
			if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
	}
	l = &laboratory{
		tree: tree, scratch: scratch, overlay: filepath.Join(scratch, "overlay.json"), patience: 10 * time.Second,
		named: make(map[string][]string), suites: make(map[string]func() (*suite, error)),
	}
	for _, m := range chosen {
		for i, name := range m.named {
			l.named[m.tests[i]] = append(l.named[m.tests[i]], "^"+name+"$")
			l.patience = time.Minute // a named test fails by itself: it may wait for what never comes
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	return l, os.WriteFile(l.overlay, text, 0o600)
}

// suite builds the tests of a folder, and runs them on the code as it is.
func (l *laboratory) suite(ctx context.Context, folder string) (*suite, error) {
	l.mu.Lock()
	build := l.suites[folder]
	if build == nil {
		build = sync.OnceValues(func() (*suite, error) { return l.build(ctx, folder) })
		l.suites[folder] = build
	}
	l.mu.Unlock()
	return build()
}

// compile builds the tests of a folder.
func (l *laboratory) compile(ctx context.Context, folder string) (*suite, error) {
	home, err := os.MkdirTemp(l.scratch, "tests")
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", l.overlay, "-o", home+"/", ".")
	command.Dir = filepath.Join(l.tree, folder)
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s does not build: %w\n%s", folder, err, output)
	}
	binary, _ := filepath.Glob(filepath.Join(home, "*.test")) // named as go test names it
	s := &suite{folder: command.Dir, binary: binary[0], skip: skipped, limit: 10 * time.Minute}
	if findsByChance(s.folder) {
		s.flags = append(s.flags, "-rapid.nofailfile") // what fails here says nothing about the code
	}
	return s, nil
}

func (l *laboratory) build(ctx context.Context, folder string) (*suite, error) {
	s, err := l.compile(ctx, folder)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	_, output, err := s.run(ctx, l.scratch, 0, strings.Join(l.named[folder], "|"))
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	s.limit = 3*took + l.patience
	fmt.Printf("%s takes %.0f s on the code as it is\n", folder, took.Seconds())
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		fmt.Printf("%s fails on the code as it is, and is left out\n", cmp.Or(found[1], found[2]))
		s.skip += "|^" + found[1] + "$"
	}
	return s, nil
}

// findsByChance says whether tests of a folder use rapid, which writes down what failed.
func findsByChance(folder string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := os.ReadFile(file)
		return bytes.Contains(text, []byte(`"pgregory.net/rapid"`))
	})
}
