package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// entry is a mutant that somebody wrote down: it breaks what docs/guarantees.md promises.
type entry struct {
	file string // in the tree
	old  string // occurs once in the file
	new  string
	when string // what is wrong then; it follows "seen red when" in docs/guarantees.md
	// tests are the names of those that have to fail, with a comma between them.
	tests string
}

// byHand makes mutants of the entries.
func byHand(tree string, loaded []*room) (all []mutant, err error) {
	where, err := testFolders(tree)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, e := range hand {
		m, err := e.mutant(loaded, where)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		all = append(all, m)
	}
	if len(wrong) > 0 {
		err = fmt.Errorf("the list by hand is stale:\n%s", strings.Join(wrong, "\n"))
	}
	return all, err
}

func (e entry) mutant(loaded []*room, where map[string][]string) (m mutant, err error) {
	text := ""
	for _, r := range loaded {
		text += r.texts[e.file]
	}
	if n := strings.Count(text, e.old); n != 1 {
		return m, fmt.Errorf("%s has %q %d times, not once", e.file, e.old, n)
	}
	if e.when == "" || e.old == e.new {
		return m, fmt.Errorf("%s: the entry %q changes nothing, or does not say what", e.file, e.old)
	}
	at := strings.Index(text, e.old)
	m = of(e.file, text, at, at+len(e.old), e.new, e.when)
	for _, name := range strings.Split(e.tests, ", ") {
		if len(where[name]) != 1 {
			return m, fmt.Errorf("%s is in these folders, and not in one: %q", name, where[name])
		}
		m.named, m.tests = append(m.named, name), append(m.tests, where[name][0])
	}
	return m, nil
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testFolders says in which folders of the tree a test is, by its name.
func testFolders(tree string) (where map[string][]string, err error) {
	where = make(map[string][]string)
	err = filepath.WalkDir(tree, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		folder, _ := filepath.Rel(tree, filepath.Dir(file))
		for _, found := range testFunction.FindAllStringSubmatch(string(text), -1) {
			where[found[1]] = append(where[found[1]], folder)
		}
		return err
	})
	return where, err
}
