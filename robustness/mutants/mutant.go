package main

import (
	"fmt"
	"strings"
)

// mutant is one change that may break a promise.
type mutant struct {
	id       int    // what the environment names it by in a build; from 1 on
	file     string // in the tree
	line     int
	from, to int    // what it replaces in the text of the file
	text     string // by what
	what     string // is changed; or, of a mutant by hand, is wrong then
	before   string // the changed lines
	after    string
	named    []string // by hand: each of these tests has to fail. Otherwise one test has to.
	tests    []string // the folders of the tests; by hand, one for each name
}

// of returns a mutant of a text.
func of(file, text string, from, to int, new, what string) mutant {
	first := strings.LastIndex(text[:from], "\n") + 1
	behind := to + strings.Index(text[to:]+"\n", "\n")
	return mutant{
		file: file, line: 1 + strings.Count(text[:from], "\n"), from: from, to: to, text: new, what: what,
		before: text[first:behind], after: text[first:from] + new + text[to:behind],
	}
}

func (m mutant) String() string {
	return strings.Join(append([]string{fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what)}, m.named...), " ")
}

// diff shows what the mutant changes.
func (m mutant) diff() string {
	return mark("-", m.before) + mark("+", m.after)
}

// mark puts a sign before the first lines of a text.
func mark(sign, text string) (marked string) {
	const most = 4
	lines := strings.Split(text, "\n")
	for _, line := range lines[:min(len(lines), most)] {
		if strings.TrimSpace(line) != "" {
			marked += "\t" + sign + " " + strings.TrimRight(line, " \t") + "\n"
		}
	}
	if len(lines) > most {
		marked += fmt.Sprintf("\t%s … %d more lines\n", sign, len(lines)-most)
	}
	return marked
}
