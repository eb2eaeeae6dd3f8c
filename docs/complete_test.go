package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
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
			if target != "check" && !slices.Contains(targets, target) {
				t.Errorf("%s names make %s, which does not exist", pages, target)
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d targets", named)
	}
}
