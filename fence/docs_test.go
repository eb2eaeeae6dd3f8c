package fence_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docsSurroundings is what a reader of the documentation has around its snippets.
const docsSurroundings = `package snippets

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/fence"
)

var (
	_ = errors.Is
	_ = rueidis.Open

	ctx        context.Context
	client     *redlatch.Client
	hold       *redlatch.Hold
	db         *sql.DB
	conn       driver.Driver
	mux        *http.ServeMux
	body       io.Reader
	url, text  string
	version, n int64
	stock      fence.Table
	page       fence.Table
	err        error
)

func deleteStock(http.ResponseWriter, *http.Request) {}
`

// unusedVariable is the one error that a snippet may have: what it declares is for the
// code that follows in an application.
var unusedVariable = regexp.MustCompile(`(?m)^.*declared and not used: \w+\n`)

func TestTheSnippetsOfTheDocumentationCompile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/fencing.md")
	must(t, err)
	snippets := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatchIndex(text, -1)
	if len(snippets) < 7 {
		t.Fatalf("found %d snippets", len(snippets))
	}
	program := strings.Builder{}
	program.WriteString(docsSurroundings)
	for _, at := range snippets {
		frame := "func _() error {\n//line fencing.md:%d\n%sreturn err\n}\n"
		if strings.HasPrefix(string(text[at[2]:]), "func ") {
			frame = "//line fencing.md:%d\n%s\n"
		}
		fmt.Fprintf(&program, frame, 1+strings.Count(string(text[:at[2]]), "\n"), text[at[2]:at[3]])
	}
	for _, at := range droppedErrors(t, program.String()) {
		t.Errorf("%s: this error is overwritten before anybody has looked at it", at)
	}
	file := filepath.Join(t.TempDir(), "snippets.go")
	must(t, os.WriteFile(file, []byte(program.String()), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-e", file)
	build.Dir = ".." // the module
	out, err := build.CombinedOutput()
	complaints := strings.ReplaceAll(unusedVariable.ReplaceAllString(string(out), ""), "# command-line-arguments\n", "")
	if complaints != "" || err != nil && len(out) == 0 {
		t.Errorf("%v\n%s", err, complaints)
	}
}

// droppedErrors are the places where a program assigns to err although it has not used what
// was there. A snippet that does so is unsafe in an application, and the compiler is silent.
func droppedErrors(t *testing.T, program string) (places []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "snippets.go", program, 0)
	must(t, err)
	ast.Inspect(file, func(node ast.Node) bool {
		block, is := node.(*ast.BlockStmt)
		if !is {
			return true
		}
		var open ast.Stmt // has assigned to err
		for _, statement := range block.List {
			assigned, used := usesOfErr(statement)
			if open != nil && assigned && !used {
				places = append(places, files.Position(open.Pos()).String())
			}
			if assigned || used {
				open = nil
			}
			if assigned {
				open = statement
			}
		}
		return true
	})
	return places
}

// usesOfErr says whether a statement assigns to err itself, and whether it reads it.
func usesOfErr(statement ast.Stmt) (assigned, used bool) {
	targets := make(map[ast.Node]bool)
	if assignment, is := statement.(*ast.AssignStmt); is {
		for _, target := range assignment.Lhs {
			targets[target] = true
		}
	}
	ast.Inspect(statement, func(node ast.Node) bool {
		if name, is := node.(*ast.Ident); is && name.Name == "err" {
			assigned = assigned || targets[name]
			used = used || !targets[name]
		}
		return true
	})
	return assigned, used
}
