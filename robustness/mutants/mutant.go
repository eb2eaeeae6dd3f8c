package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is one change that breaks a promise.
type mutant struct {
	file string // in the tree
	old  string // occurs once in the file
	new  string
	when string // what is wrong then; it follows "seen red when" in docs/guarantees.md
	// tests are those that have to fail: a package and a colon, which are left out for the root
	// package, and names with a comma between them.
	tests string
}

// table is all mutants.
var table = slices.Concat(scripts, permits, fairScripts, sessionScripts, renewing, waiting, polling, offering, locking, passing, wholes, protecting, driving, supervising,
	observing, simulated, lasting, telling, looking, turns)

// split divides the tests of a mutant into their package, as go test takes it, and their names.
func (m mutant) split() (folder string, names []string) {
	folder, all, named := strings.Cut(m.tests, ": ")
	if !named {
		folder, all = ".", m.tests
	}
	return "./" + folder, strings.Split(all, ", ")
}

func (m mutant) String() string {
	return fmt.Sprintf("%s: %s (%s)", m.file, m.when, m.tests)
}

// apply returns the text of the mutant's file with the change in it.
func (m mutant) apply(tree string) (string, error) {
	text, err := os.ReadFile(filepath.Join(tree, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, not once", m.file, m.old, n)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// check says what is wrong with an entry, or nil. It asks for the tests of a folder.
func (m mutant) check(tree string, testsOf func(folder string) ([]string, error)) error {
	if _, err := m.apply(tree); err != nil {
		return err
	}
	if m.when == "" || m.old == m.new {
		return fmt.Errorf("%s: the entry %q changes nothing, or does not say what", m.file, m.old)
	}
	folder, names := m.split()
	there, err := testsOf(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			return fmt.Errorf("there is no %s in %s", name, folder)
		}
	}
	return nil
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsOf are the tests in a folder.
func testsOf(folder string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, found := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names, err
}
