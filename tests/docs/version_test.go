package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree is the root of the repository, seen from docs.
const tree = ".."

// release is the heading of a version in the changelog.
var release = regexp.MustCompile(`(?m)^## \[?([^\]\s]+)\]?(?: - (\S+))?$`)

// Goal: everything that names the version of the tree names the same one: the newest release of the
// changelog. The command has no number of its own: it prints what the module was built as.
func TestTheTreeHasOneVersion(t *testing.T) {
	t.Parallel()
	version := releases(t)[0]
	notes := fmt.Sprintf("docs/releases/v%s.md", version)
	for _, c := range []struct{ file, pattern string }{
		{"README.md", `\*\*Status:\*\* version ([\d.]+\d)`},
		{"README.md", `docs/releases/v([\d.]+\d)\.md`},
		{notes, `(?m)^# redlatch v(.*)$`},
		{notes, `redlatch/\S+@v(\S+)`},
		{"deploy/kubernetes/*.yaml", `image: \S*/redlatch:(\S+)`},
	} {
		named := namedIn(t, c.file, c.pattern)
		if len(named) == 0 {
			t.Errorf("%s names no version as in %s", c.file, c.pattern)
		}
		for _, other := range named {
			if other != version {
				t.Errorf("%s names version %s, and the changelog %s", c.file, other, version)
			}
		}
	}
}

// Goal: a module of the tree that requires another one requires the version that is released with it.
func TestTheModulesRequireTheVersionOfTheTree(t *testing.T) {
	t.Parallel()
	version := "v" + releases(t)[0]
	for _, pattern := range []string{"go.mod", "*/go.mod", "*/*/go.mod"} {
		for _, required := range namedIn(t, pattern, `(?m)^\s*(?:require )?github\.com/redlatch/redlatch\S* (v\S+)`) {
			if required != version && !strings.HasPrefix(required, "v0.0.0") { // which a replace directive goes with
				t.Errorf("%s requires %s of a module of the tree, and the changelog says %s", pattern, required, version)
			}
		}
	}
}

// Goal: the changelog has sections that were released, newest first, each with its day and its notes; and
// what is not released stands in front of them.
func TestTheChangelogHasReleases(t *testing.T) {
	t.Parallel()
	versions := releases(t)
	if len(versions) < 2 {
		t.Fatalf("the changelog has the releases %q", versions)
	}
	for _, version := range versions {
		if _, err := os.Stat(filepath.Join(tree, "docs", "releases", "v"+version+".md")); err != nil {
			t.Errorf("version %s has no release notes: %v", version, err)
		}
	}
	notes, err := filepath.Glob(filepath.Join(tree, "docs", "releases", "*.md"))
	must(t, err)
	if len(notes) != len(versions) {
		t.Errorf("%d release notes for the releases %q", len(notes), versions)
	}
}

// Goal: each release says in one place what was added, and so on.
func TestNoSectionOfTheChangelogStandsTwice(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(tree, "CHANGELOG.md"))
	must(t, err)
	for _, of := range strings.Split(string(text), "\n## ")[1:] {
		name, _, _ := strings.Cut(of, "\n")
		for _, section := range []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"} {
			if n := strings.Count(of, "\n### "+section+"\n"); n > 1 {
				t.Errorf("%s has %d sections %q", name, n, section)
			}
		}
	}
}

// releases are the versions of the changelog, newest first.
func releases(t *testing.T) (versions []string) {
	t.Helper()
	var days []string
	text, err := os.ReadFile(filepath.Join(tree, "CHANGELOG.md"))
	must(t, err)
	for i, found := range release.FindAllStringSubmatch(string(text), -1) {
		if found[1] == "Unreleased" {
			if i > 0 || found[2] != "" {
				t.Error("Unreleased does not stand in front, or has a day")
			}
			continue
		}
		if _, err := time.Parse(time.DateOnly, found[2]); err != nil {
			t.Errorf("version %s: %v", found[1], err)
		}
		versions = append(versions, found[1])
		days = append(days, found[2])
	}
	if len(versions) == 0 {
		t.Fatal("the changelog has no release")
	}
	slices.Reverse(days)
	if !slices.IsSorted(days) {
		t.Errorf("the releases %q are not in order: oldest first, their days are %q", versions, days)
	}
	return versions
}

// namedIn finds what a pattern captures in the files that match a name.
func namedIn(t *testing.T, name, pattern string) (found []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tree, name))
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, strings.TrimSpace(match[1]))
		}
	}
	return found
}
