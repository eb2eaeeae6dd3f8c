package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
)

// Goal: every link from one page of the tree to another leads to a file, and to a heading of it.
func TestLongEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"../*.md", "*.md", "decisions/*.md", "releases/*.md", "../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		must(t, err)
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		for _, found := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(found[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: there is no such file", page, found[1])
			} else if anchor != "" && !anchors(readPage(t, target))[anchor] {
				t.Errorf("%s: %s: there is no such heading", page, found[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("found %d links", links)
	}
}

// readPage is the text of a page without its blocks of code.
func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	return fenced.ReplaceAllString(string(text), "")
}

// anchors are the names by which the headings of a page are linked to.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(found[1]), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}
