package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// guarantees is the page whose tables name tests, and in their last column how each was seen red.
const guarantees = "docs/guarantees.md"

// seenOnce stands in a cell before what no mutant says, and is not rewritten.
const seenOnce = "by hand: "

// rewritePage changes the text of a page.
func rewritePage(tree, page string, change func(text string) string) error {
	file := filepath.Join(tree, page)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(change(string(text))), 0o644)
}

// guaranteed is the page with what the list says.
func guaranteed(text string) string { return rewrite(text, hand) }

// rewrite writes the last cell of each row of a promise: the sentences of the entries by hand whose tests
// the row names, and behind them what was done by hand.
func rewrite(text string, all []entry) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(strings.TrimSuffix(line, " |"), " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| ") || !strings.HasSuffix(line, " |") || cells[2] == "Seen red when" {
			continue
		}
		parts := sentences(cells[1], all)
		if _, known, marked := strings.Cut(cells[2], seenOnce); marked {
			parts = append(parts, seenOnce+known)
		}
		if len(parts) == 0 {
			parts = []string{"–"}
		}
		cells[2] = strings.Join(parts, "; ")
		lines[i] = strings.Join(cells, " | ") + " |"
	}
	return strings.Join(lines, "\n")
}

var testName = regexp.MustCompile("`(Test\\w+)`")

// sentences are those of the entries by hand whose tests a cell names.
func sentences(cell string, all []entry) (seen []string) {
	named := make(map[string]bool)
	for _, found := range testName.FindAllStringSubmatch(cell, -1) {
		named[found[1]] = true
	}
	for _, m := range all {
		names := strings.Split(m.tests, ", ")
		if slices.ContainsFunc(names, func(name string) bool { return named[name] }) && !slices.Contains(seen, m.when) {
			seen = append(seen, m.when)
		}
	}
	return seen
}
