package docs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/watchdog"
)

// Goal: the page on the wire format has every key and channel, as package protocol writes it.
func TestTheWireFormatHasEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("wire-format.md")
	must(t, err)
	for _, name := range []string{
		protocol.LockChannel("job"),
		protocol.FairQueue("job"),
		protocol.FairDeadlines("job"),
		protocol.FairKeepAlives("job"),
		protocol.RunsKey("job"),
		protocol.NoteKey("job", "owner"),
		protocol.RWChannel("job"),
		protocol.TokenKey("job"),
		protocol.ReadTimeoutKey("job", "owner", 1),
		protocol.SemaphoreChannel("job"),
		protocol.PermitsInUse("job"),
		protocol.LatchChannel("job"),
		protocol.WriterField("clientUUID:number"),
		protocol.Sessions,
		protocol.SessionKey("client"),
		protocol.WaitsKey("client"),
		protocol.PulseChannel("client", "name"),
		protocol.Watchdogs,
	} {
		if !strings.Contains(string(text), "`"+name+"`") && !strings.Contains(string(text), "`"+name+":") {
			t.Errorf("the page lacks %s", name)
		}
	}
}

// Goal: the page on errors has every error that the library exports. Method: read errors.go.
func TestThePageOnErrorsHasEveryError(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("../errors.go")
	must(t, err)
	page, err := os.ReadFile("errors.md")
	must(t, err)
	names := regexp.MustCompile(`(?m)^(?:\t(Err\w+) +=|type (\w+Error) )`).FindAllStringSubmatch(string(code), -1)
	if len(names) < 12 {
		t.Fatalf("errors.go has %d errors", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(page), "\n### "+name[1]+name[2]+"\n") {
			t.Errorf("the page lacks %s", name[1]+name[2])
		}
	}
}

// Goal: the page on the architecture leads to files that exist. Its names
// without a folder are in the root, in internal/lock or in internal/script.
func TestTheArchitectureNamesFilesThatExist(t *testing.T) {
	t.Parallel()
	page := readPage(t, filepath.Join(tree, "docs/architecture.md"))
	files := regexp.MustCompile("`([a-z_/]+\\.(?:go|lua))`").FindAllStringSubmatch(page, -1)
	if len(files) < 20 {
		t.Fatalf("the page names %d files", len(files))
	}
	for _, file := range files {
		if !existsBelow(t, file[1]) {
			t.Errorf("the page names %s, which does not exist", file[1])
		}
	}
}

// Goal: whoever asks where something is decided finds the function. Method: the identifier behind a file is
// declared in it.
func TestTheArchitectureNamesFunctionsThatExist(t *testing.T) {
	t.Parallel()
	page := readPage(t, filepath.Join(tree, "docs/architecture.md"))
	named := regexp.MustCompile("`([a-z_/]+\\.go)`, `(?:(\\w+)\\.)?(\\w+)`").FindAllStringSubmatch(page, -1)
	named = slices.DeleteFunc(named, func(name []string) bool { return name[3] == "go" || name[3] == "lua" }) // one more file
	if len(named) < 10 {
		t.Fatalf("the page names %d functions", len(named))
	}
	for _, name := range named {
		text, err := os.ReadFile(filepath.Join(tree, name[1]))
		must(t, err)
		receiver := ""
		if name[2] != "" {
			receiver = `\(\w+ \*?` + name[2] + `\) `
		}
		if !regexp.MustCompile(`(?m)^(?:func ` + receiver + name[3] + `\(|(?:var|type|const) ` + name[3] + `\b)`).Match(text) {
			t.Errorf("%s has no %s", name[1], strings.TrimPrefix(name[2]+"."+name[3], "."))
		}
	}
}

// existsBelow says whether a file of that name is in the root, in internal/lock or in internal/script. Each
// package has a doc.go.
func existsBelow(t *testing.T, file string) bool {
	t.Helper()
	for _, folder := range []string{".", "internal/lock", "internal/script"} {
		if _, err := os.Stat(filepath.Join(tree, folder, file)); err == nil {
			return true
		}
	}
	return file == "doc.go"
}

// Goal: a reader who types a target of make that a page names gets one.
func TestThePagesNameTargetsThatExist(t *testing.T) {
	t.Parallel()
	targets := namedIn(t, "Makefile", `(?m)^([a-z-]+):`)
	named := 0
	for _, pages := range []string{"*.md", "docs/*.md"} {
		for _, target := range namedIn(t, pages, "(?m)(?:`|^)make ([a-z][a-z-]*)") {
			named++
			if !slices.Contains(targets, target) {
				t.Errorf("%s names make %s, which does not exist", pages, target)
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d targets", named)
	}
}

// Goal: a field of Config and an option of an acquisition that a page names exist. The pages for those who
// come from other libraries name theirs as well.
func TestThePagesNameFieldsAndOptionsThatExist(t *testing.T) {
	t.Parallel()
	options := namedIn(t, "*.go", `(?m)^func (With\w+)\(`)
	options = append(options, namedIn(t, "client.go", `(?m)^func \(c \*Client\) (With\w+)\(`)...)
	options = append(options, "WithToken", "WithoutCancel", "WithTimeout", "WithDistributedLocker", "WithDistributedElector") // of others
	configs := []reflect.Type{reflect.TypeFor[redlatch.Config](), reflect.TypeFor[watchdog.Config]()}
	pages, err := filepath.Glob(filepath.Join(tree, "docs/*.md"))
	must(t, err)
	named := 0
	for _, page := range append(pages, filepath.Join(tree, "README.md")) {
		if strings.HasPrefix(filepath.Base(page), "from-") {
			continue
		}
		text := readPage(t, page)
		for _, found := range regexp.MustCompile(`\bConfig\.([A-Z]\w+)`).FindAllStringSubmatch(text, -1) {
			named++
			if !slices.ContainsFunc(configs, func(c reflect.Type) bool { _, has := c.FieldByName(found[1]); return has }) {
				t.Errorf("%s: Config has no field %s", page, found[1])
			}
		}
		for _, found := range regexp.MustCompile(`\bWith[A-Z]\w+`).FindAllString(text, -1) {
			named++
			if !slices.Contains(options, found) {
				t.Errorf("%s: there is no %s", page, found)
			}
		}
	}
	if named < 100 {
		t.Errorf("the pages name %d fields and options", named)
	}
}

// Goal: the page on metrics has every metric of package redlatchprom, and no other.
func TestThePageOnMetricsHasEveryMetric(t *testing.T) {
	t.Parallel()
	exported := namedIn(t, "redlatchprom/doc.go", `(?m)^//\t(redlatch_[a-z_]+)`)
	listed := namedIn(t, "docs/metrics.md", "`(redlatch_[a-z_]+)")
	slices.Sort(exported)
	slices.Sort(listed)
	if exported, listed = slices.Compact(exported), slices.Compact(listed); len(exported) < 10 || !slices.Equal(exported, listed) {
		t.Errorf("the page has %q, and the package %q", listed, exported)
	}
}
