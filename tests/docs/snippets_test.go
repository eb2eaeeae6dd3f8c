// Package docs_test compiles and runs the Go code of the README and of the pages in docs/.
package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Goal: what a reader copies from the documentation compiles, works, and drops no error.
// Method: every block of Go becomes a function, a program or a test of a module outside of this
// one. In it redis:// URLs are replaced by memory://, and one run of go test does the rest.
func TestLongTheSnippetsOfTheDocumentationWork(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	pages, err := filepath.Glob("*.md")
	must(t, err)
	for _, page := range append(pages, "../README.md") {
		m.addPage(page)
	}
	if m.blocks < 28 || m.run < 18 {
		t.Fatalf("found %d blocks of Go, %d of them to run", m.blocks, m.run)
	}
	m.finish()
	// The tests beside this one have compiled all for the race detector.
	test := exec.CommandContext(t.Context(), "go", "test", "-race", "-gcflags=-e", "./...")
	test.Dir = m.dir
	test.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly", "GOWORK=")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// module is a module of snippets: a package for each page, and a test that runs them all.
type module struct {
	t       *testing.T
	dir     string
	imports []string // of the test that runs them
	blocks  int
	run     int
}

// newModule makes an empty one, in the workspace of the tree: it can import what the tree can.
func newModule(t *testing.T) *module {
	root, err := filepath.Abs("..")
	must(t, err)
	work, err := os.ReadFile(filepath.Join(root, "go.work"))
	must(t, err)
	m := &module{t: t, dir: t.TempDir()}
	m.write("go.mod", "module snippets\n\ngo 1.26.0\n")
	own := regexp.MustCompile(`(?m)(^\t|=> )\./?`).ReplaceAllString(string(work), "${1}"+root+"/")
	m.write("go.work", own+"\nuse .\n")
	if sums, err := os.ReadFile(filepath.Join(root, "go.work.sum")); err == nil {
		m.write("go.work.sum", string(sums))
	}
	return m
}

func (m *module) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	must(m.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(m.t, os.WriteFile(path, []byte(text), 0o600))
}

var (
	goBlock   = regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	serverURL = regexp.MustCompile(`"rediss?(\+sentinel|\+cluster)?://([a-z0-9.:]*)[^"]*"`)
)

// addPage takes over the blocks of one page.
func (m *module) addPage(file string) {
	text, err := os.ReadFile(file)
	must(m.t, err)
	page := strings.TrimPrefix(file, "../")
	name := "page_" + regexp.MustCompile(`\W`).ReplaceAllString(strings.ToLower(strings.TrimSuffix(page, ".md")), "_")
	var code strings.Builder
	var calls []string
	for _, at := range goBlock.FindAllSubmatchIndex(text, -1) {
		m.blocks++
		line := 1 + strings.Count(string(text[:at[2]]), "\n")
		block := serverURL.ReplaceAllString(string(text[at[2]:at[3]]), `"memory://$2"`)
		where := fmt.Sprintf("%s:%d", page, line)
		if strings.HasPrefix(block, "package ") {
			m.addFile(fmt.Sprintf("%s_%d", name, line), where, block)
			continue
		}
		if parses("package p\n" + block) {
			fmt.Fprintf(&code, "\n//line %s\n%s", where, block)
			continue
		}
		function := fmt.Sprintf("at%d", line)
		source := m.asFunction(function, where, block)
		code.WriteString(source)
		if reason := needsMore(block); reason == "" {
			calls = append(calls, fmt.Sprintf("{%q, %s},", where, function))
		}
	}
	if code.Len() == 0 {
		return
	}
	m.run += len(calls)
	m.imports = append(m.imports, name)
	m.write(name+"/page.go", withImports(name, fixtures+strings.Join(calls, "\n")+"\n}\n"+code.String()))
}

// addFile takes over a block that is a whole program or a whole test.
func (m *module) addFile(name, where, block string) {
	file := name + "/main.go"
	if strings.Contains(block, `"testing"`) {
		file = name + "/page_test.go"
		m.run++
	} else {
		// A program is built, and run, as the test of its package.
		call := ""
		if needsMore(block) == "" {
			call = " main() "
			m.run++
		}
		m.write(name+"/main_test.go", "package main\n\nimport \"testing\"\n\nfunc TestMain(*testing.M) {"+call+"}\n")
	}
	m.write(file, "//line "+where+"\n"+block)
}

// asFunction puts a block of statements into a function. What it declares is for the code that
// follows in an application, so it need not be used.
func (m *module) asFunction(name, where, block string) string {
	source := fmt.Sprintf("package p\nfunc %s() error {\n//line %s\n%s", name, where, block)
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", source+"return err\n}\n", parser.SkipObjectResolution)
	if err != nil {
		m.t.Errorf("%v", err)
		return ""
	}
	for _, at := range droppedErrors(files, tree) {
		m.t.Errorf("%s: this error is overwritten before anybody has looked at it", at)
	}
	body := tree.Decls[0].(*ast.FuncDecl).Body
	used := ""
	for _, name := range declared(body) {
		used += "_ = " + name + "\n"
	}
	return strings.TrimPrefix(source, "package p\n") + used + "return err\n}\n\n"
}

// declared are the variables that the statements of a block declare.
func declared(body *ast.BlockStmt) (names []string) {
	for _, statement := range body.List {
		switch s := statement.(type) {
		case *ast.AssignStmt:
			for _, target := range s.Lhs {
				if name, is := target.(*ast.Ident); is && s.Tok == token.DEFINE && name.Name != "_" {
					names = append(names, name.Name)
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if values, is := spec.(*ast.ValueSpec); is {
					for _, name := range values.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// needsMore says what a block needs besides a memory:// server. Such a block is compiled and not
// run.
func needsMore(block string) string {
	for word, reason := range map[string]string{
		`\b(db|tx)\b`:                        "a database",
		`\bbucket\b`:                         "a server of S3",
		`\b(http\.|mux\b)`:                   "a web server",
		`\brueidis\.Open`:                    "a Redis server",
		`\bgoredis\.New`:                     "a Redis server",
		`\bsignal\.`:                         "a signal",
		`\b(leader|schedule)\.(Run|Observe)`: "an end",
	} {
		if regexp.MustCompile(word).MatchString(block) {
			return reason
		}
	}
	return ""
}

func parses(source string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	return err == nil
}

// finish writes the test that runs the snippets one after another.
func (m *module) finish() {
	var imports, calls string
	for _, name := range m.imports {
		imports += fmt.Sprintf("\t%q\n", "snippets/"+name)
		calls += fmt.Sprintf("\tperform(t, %[1]s.Prepare, %[1]s.Snippets)\n", name)
	}
	m.write("run_test.go", fmt.Sprintf(runner, imports, calls))
}

// runner opens a client for each snippet and calls it.
const runner = `package snippets

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory"

%s)

func TestSnippets(t *testing.T) {
%s}

func perform(t *testing.T, prepare func(context.Context, *redlatch.Client, *redlatch.Hold), snippets []struct {
	Where string
	Call  func() error
}) {
	for _, snippet := range snippets {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		client, err := redlatch.Open(ctx, "memory://", redlatch.Config{})
		if err != nil {
			t.Fatal(err)
		}
		hold, err := client.Mutex("held by the page").Lock(ctx, redlatch.WithFencing())
		if err != nil {
			t.Fatal(err)
		}
		prepare(ctx, client, hold)
		done := make(chan error, 1)
		go func() { done <- snippet.Call() }()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%%s: %%v", snippet.Where, err)
			}
		case <-ctx.Done():
			t.Errorf("%%s: it has not ended", snippet.Where)
		}
		_ = client.Close(ctx)
		cancel()
	}
}
`

// fixtures are what a reader of a page has around its snippets. The list of snippets follows.
const fixtures = `
var (
	ctx        context.Context
	client     *redlatch.Client
	hold       *redlatch.Hold
	err        error
	db         *sql.DB
	conn       driver.Driver
	mux        *http.ServeMux
	body       io.Reader
	url, text  string
	version, n int64
	order      int
	stock      fence.Table
	page       fence.Table
)

func deleteStock(http.ResponseWriter, *http.Request) {}
func ship(ctx context.Context, order int) error { return ctx.Err() }
func transfer(ctx context.Context, from, to int) error { return ctx.Err() }
func work(ctx context.Context) error { return ctx.Err() }

// Prepare is called before each snippet.
func Prepare(c context.Context, of *redlatch.Client, held *redlatch.Hold) {
	ctx, client, hold, err, url = c, of, held, nil, "memory://"
}

// Snippets are the snippets that run.
var Snippets = []struct {
	Where string
	Call  func() error
}{
`

// packages are those that snippets may name.
var packages = map[string]string{
	"leader":   "github.com/redlatch/redlatch/leader",
	"verify":   "github.com/redlatch/redlatch/verify",
	"schedule": "github.com/redlatch/redlatch/schedule",
	"blocked":  "github.com/redlatch/redlatch/inspect/blocked",
	"console":  "github.com/redlatch/redlatch/console",
	"driver":   "github.com/redlatch/redlatch/driver",
	"fence":    "github.com/redlatch/redlatch/fence",
	"goredis":  "github.com/redlatch/redlatch/driver/goredis",
	"redis":    "github.com/redis/go-redis/v9",
	"redlatch": "github.com/redlatch/redlatch",
	"rueidis":  "github.com/redlatch/redlatch/driver/rueidis",

	"redlatchotel": "github.com/redlatch/redlatch/redlatchotel",
	"inspect":      "github.com/redlatch/redlatch/inspect",
	"redlatchprom": "github.com/redlatch/redlatch/redlatchprom",

	"attribute":  "go.opentelemetry.io/otel/attribute",
	"prometheus": "github.com/prometheus/client_golang/prometheus",
	"strings":    "strings",

	"log": "log", "watchdog": "github.com/redlatch/redlatch/watchdog",
	"atomic":  "sync/atomic",
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "io": "io", "os": "os",
	"signal": "os/signal", "slog": "log/slog", "sql": "database/sql", "syscall": "syscall", "time": "time",
	"tls": "crypto/tls", "rand": "math/rand/v2",
}

// withImports makes a file of some code.
func withImports(name, code string) string {
	var imports []string
	for short, path := range packages {
		if regexp.MustCompile(`\b` + short + `\.[A-Z]`).MatchString(code) {
			imports = append(imports, fmt.Sprintf("\t%q\n", path))
		}
	}
	slices.Sort(imports)
	return "package " + name + "\n\nimport (\n" + strings.Join(imports, "") + ")\n" + code
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
