package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree is where the module begins.
const tree = "../.."

// Goal: a change of the code does not leave the list by hand or the table of rooms behind. Method: each old
// text occurs once and inside of a function, each test is in one folder, each folder has tests.
func TestTheListByHandIsNotStale(t *testing.T) {
	t.Parallel()
	absolute, err := filepath.Abs(tree)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := load(context.Background(), absolute)
	if err != nil {
		t.Fatal(err)
	}
	all, err := byHand(tree, loaded)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].id = i + 1
	}
	for _, r := range loaded {
		inside := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return filepath.Dir(m.file) != r.folder })
		if _, err := r.woven(inside); err != nil {
			t.Error(err)
		}
		for _, folder := range r.tests {
			if files, _ := filepath.Glob(filepath.Join(tree, folder, "*_test.go")); len(files) == 0 {
				t.Errorf("%s has no tests for %s", folder, r.folder)
			}
		}
	}
	if len(hand) > 75 {
		t.Errorf("the list by hand has %d entries", len(hand))
	}
}

// Goal: a wrong entry is seen.
func TestWrongEntriesAreSeen(t *testing.T) {
	t.Parallel()
	loaded := []*room{{texts: map[string]string{"a.go": "one two two"}}}
	where := map[string][]string{"TestA": {"x"}, "TestB": {"x", "y"}}
	good := entry{"a.go", "one", "three", "it was wrong", "TestA"}
	if m, err := good.mutant(loaded, where); err != nil || !slices.Equal(m.tests, []string{"x"}) {
		t.Errorf("a good entry: %v, %v", m, err)
	}
	for what, change := range map[string]func(e *entry){
		"no such file":           func(e *entry) { e.file = "gone.go" },
		"a text not once":        func(e *entry) { e.old = "two" },
		"no change":              func(e *entry) { e.new = e.old },
		"no sentence":            func(e *entry) { e.when = "" },
		"no such test":           func(e *entry) { e.tests = "TestGone" },
		"a test in two packages": func(e *entry) { e.tests = "TestA, TestB" },
	} {
		bad := good
		change(&bad)
		if _, err := bad.mutant(loaded, where); err == nil {
			t.Errorf("%s was not seen", what)
		}
	}
}

// fewImports has of the standard library what a woven file needs. Whoever asks the go command for it has it compiled.
type fewImports struct{}

func (fewImports) Import(path string) (*types.Package, error) {
	files, text := token.NewFileSet(), map[string]string{
		"os":      `package os; func Getenv(string) string { return "" }`,
		"strconv": `package strconv; func Atoi(string) (int, error) { return 0, nil }`,
	}[path]
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		return nil, err
	}
	return new(types.Config).Check(path, files, []*ast.File{file}, nil)
}

// Goal: the operators find what they are for in Go, leave alone what they should, and keep only what
// compiles.
func TestOperatorsOverGo(t *testing.T) {
	t.Parallel()
	r := &room{folder: "p", name: "p", imports: fewImports{}, texts: map[string]string{"p/p.go": `package p

func f(a, b int, on bool) (int, error) {
	if a < b && on {
		g(a, b)
	} else {
		panic(b)
	}
again:
	for i := 0; i < 3; i++ {
		if on {
			continue again
		}
	}
	err := error(nil)
	return min(a, b), err
}

func g(a, b int) {}
`}}
	found, err := r.mutants()
	if err != nil {
		t.Fatal(err)
	}
	var after []string
	for _, m := range found {
		after = append(after, strings.TrimSpace(m.after))
	}
	for _, want := range []string{
		"if (a < b && on) && false {", "if (a < b && on) || true {", "if a <= b && on {", "if a < b {", "if on {",
		"g(b, a)", "for i := 1; i < 3; i++ {", "for i := 0; i < 4; i++ {", "return a, err", "",
	} {
		if !slices.ContainsFunc(after, func(got string) bool { return strings.Join(strings.Fields(got), " ") == want }) {
			t.Errorf("no mutant is %q", want)
		}
	}
	for _, m := range found {
		if strings.Contains(m.before, "panic") && !strings.Contains(m.what, "else") {
			t.Errorf("a panic was broken: %v", m)
		}
		if strings.Contains(m.after, "min(a, b), nil") {
			t.Errorf("err is not used then: %v", m)
		}
	}
}

// Goal: the operators find what they are for in Lua.
func TestOperatorsOverLua(t *testing.T) {
	t.Parallel()
	found := luaMutants("x.lua", `-- if a then
if a and b < 1 then
  redis.call('HSET', lock, owner)
end
return math.max(x, y)
`)
	var after []string
	for _, m := range found {
		after = append(after, strings.TrimSpace(m.after))
	}
	for _, want := range []string{
		"if (a and b < 1) and false then", "if (a and b < 1) or true then", "if a then", "if b < 1 then", "if a and b <= 1 then",
		"if a and b < 2 then", "redis.call('HSET', owner, lock)", "", "return x", "return y", "return 0",
	} {
		if !slices.Contains(after, want) {
			t.Errorf("no mutant is %q: %q", want, after)
		}
	}
	for _, m := range found {
		if m.line == 1 {
			t.Errorf("a comment was broken: %v", m)
		}
	}
}

// Goal: what becomes of a mutant is said truly. Method: a module of one function and one test, and mutants
// that survive, are killed, hang, and do not build; tried by all tests, and by the test that an entry names.
func TestLongVerdicts(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	texts := map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"p/p.go":      "package p\n\nfunc add(a, b int) int {\n\tfor i := 0; i < b; i++ {\n\t\ta++\n\t}\n\treturn a\n}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
	}
	for name, text := range texts {
		file := filepath.Join(module, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, named := range [][]string{nil, {"TestAdd"}} {
		for _, c := range []struct {
			old, new, killer, wrong string
			wrongIfNamed            string
		}{
			{old: "i < b", new: "i != b"},
			{old: "a++", new: "a += 2", killer: "TestAdd"},
			{old: "i++", new: "", killer: hangs, wrongIfNamed: "another reason: hang"},
			{old: "a++", new: "panic(a)", killer: "TestAdd", wrongIfNamed: "another reason"},
			{old: "a++", new: "a = nil", wrong: "does not build", wrongIfNamed: "does not build"},
		} {
			at := strings.Index(texts["p/p.go"], c.old)
			m := of("p/p.go", texts["p/p.go"], at, at+len(c.old), c.new, "")
			m.id, m.tests, m.named = 1, []string{"p"}, named
			r := &room{folder: "p", name: "p", texts: map[string]string{"p/p.go": texts["p/p.go"]}}
			l, err := prepare(module, t.TempDir(), []*room{r}, []mutant{m})
			if err != nil {
				t.Fatal(err)
			}
			l.patience = time.Second
			want := c.wrong
			if named != nil {
				want = c.wrongIfNamed
			}
			v := l.try(t.Context(), m)
			if said := fmt.Sprint(v.wrong); want != "" && !strings.Contains(said, want) || want == "" && v.wrong != nil {
				t.Errorf("%s instead of %s, named %q: %s", c.new, c.old, named, said)
			}
			if want == "" && !strings.HasPrefix(v.killer, c.killer) || c.killer == "" && v.killer != "" {
				t.Errorf("%s instead of %s, named %q: killed by %q", c.new, c.old, named, v.killer)
			}
		}
	}
}

// Goal: a seed repeats its sample.
func TestASeedRepeatsItsSample(t *testing.T) {
	t.Parallel()
	all := make([]mutant, 100)
	for i := range all {
		all[i].line = i
	}
	lines := func(seed uint64) (lines []int) {
		for _, m := range choose(slices.Clone(all), regexp.MustCompile(""), 5, seed) {
			lines = append(lines, m.line)
		}
		return lines
	}
	if one := lines(1); len(one) != 5 || !slices.Equal(one, lines(1)) || slices.Equal(one, lines(2)) {
		t.Errorf("the samples are %v, %v and %v", one, lines(1), lines(2))
	}
}

// Goal: two pages say what the list says. If this fails, run "make guarantees", or let the machines search.
func TestThePagesAgreeWithTheList(t *testing.T) {
	t.Parallel()
	for page, rewritten := range map[string]func(string) string{
		guarantees:  guaranteed,
		trackRecord: func(text string) string { return tabulated(text, "", "") },
	} {
		text, err := os.ReadFile(filepath.Join(tree, page))
		if err != nil {
			t.Fatal(err)
		}
		now, then := strings.Split(string(text), "\n"), strings.Split(rewritten(string(text)), "\n")
		for i := range min(len(now), len(then)) {
			if now[i] != then[i] || strings.HasSuffix(now[i], notTried+" |") {
				t.Fatalf("line %d of %s is\n%s\nwant\n%s", i+1, page, now[i], then[i])
			}
		}
		if len(now) != len(then) {
			t.Errorf("%s has %d lines, want %d", page, len(now), len(then))
		}
	}
}

func TestCellsAreRewritten(t *testing.T) {
	t.Parallel()
	all := []entry{
		{when: "the reply was ignored", tests: "TestA, TestB"},
		{when: "nobody was told", tests: "TestC"},
		{when: "half was enough", tests: "TestC"},
	}
	for _, c := range []struct{ row, want string }{
		{"| P | `TestA` | – |", "| P | `TestA` | the reply was ignored |"},
		{"| P | `TestA` | by hand: earlier |", "| P | `TestA` | the reply was ignored; by hand: earlier |"},
		{"| P | `TestA` | an old sentence; by hand: earlier; a count |", "| P | `TestA` | the reply was ignored; by hand: earlier; a count |"},
		{"| P | `TestA` | an old sentence |", "| P | `TestA` | the reply was ignored |"},
		{"| P | `TestB`, `TestC` | – |", "| P | `TestB`, `TestC` | the reply was ignored; nobody was told; half was enough |"},
		{"| P | `TestD` | an old sentence; by hand: earlier |", "| P | `TestD` | by hand: earlier |"},
		{"| P | `TestD` | an old sentence |", "| P | `TestD` | – |"},
		{"| P | the drills | – |", "| P | the drills | – |"},
		{"| early | plain | 1 | 2 |", "| early | plain | 1 | 2 |"},
		{"| Promise | Test | Seen red when |", "| Promise | Test | Seen red when |"},
		{"a | b | c", "a | b | c"},
	} {
		if got := rewrite(c.row, all); got != c.want {
			t.Errorf("%q became\n%q, want\n%q", c.row, got, c.want)
		}
	}
}
