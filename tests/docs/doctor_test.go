package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Goal: the page on doctor has a section for each of its checks, and for nothing else. Method: read its
// source.
func TestThePageOnDoctorHasEveryCheck(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../inspect/doctor/*.go")
	must(t, err)
	codes := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		if !strings.HasSuffix(file, "_test.go") {
			for _, found := range regexp.MustCompile(`Code: +"([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
				codes[found[1]] = true
			}
		}
	}
	page, err := os.ReadFile("doctor.md")
	must(t, err)
	for _, found := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(page), -1) {
		if !codes[found[1]] {
			t.Errorf("there is no check %s", found[1])
		}
		delete(codes, found[1])
	}
	if len(codes) > 0 {
		t.Errorf("the page lacks %v", codes)
	}
}
