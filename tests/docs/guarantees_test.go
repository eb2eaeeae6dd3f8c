package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Goal: every test that the page on guarantees names is in the package that it names. Method:
// in a cell, a package and a colon stand in front of its tests; before the first of them, and
// behind "root:", it is the root package.
func TestTheGuaranteesNameTestsThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("guarantees.md")
	must(t, err)
	word := regexp.MustCompile("(root|`[a-z][a-z/]*`): |`(Test\\w+)`|\n")
	tests := map[string]map[string]bool{}
	folder, named := ".", 0
	for _, found := range word.FindAllStringSubmatch(string(text), -1) {
		switch {
		case found[2] != "":
			named++
			if tests[folder] == nil {
				tests[folder] = testsOf(t, folder)
			}
			if !tests[folder][found[2]] {
				t.Errorf("%s is not in package %s", found[2], folder)
			}
		case found[1] == "" || found[1] == "root":
			folder = "."
		default:
			folder = strings.Trim(found[1], "`")
		}
	}
	if named < 100 {
		t.Errorf("the page names %d tests", named)
	}
}

// testsOf are the names of the tests in one folder of the module.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	must(t, err)
	names := map[string]bool{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		for _, declaration := range tree.Decls {
			if function, is := declaration.(*ast.FuncDecl); is {
				names[function.Name.Name] = true
			}
		}
	}
	return names
}
