package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree is where the module begins.
const tree = "../.."

// Goal: a change of the code does not leave the table behind. Method: each old text occurs once,
// and each test exists.
func TestTheTableIsNotStale(t *testing.T) {
	t.Parallel()
	if err := checkAll(tree, table); err != nil {
		t.Error(err)
	}
	if len(table) < 60 {
		t.Errorf("there are %d mutants", len(table))
	}
	seen := make(map[[2]string]bool)
	for _, m := range table {
		if key := [2]string{m.file + m.old, m.new}; seen[key] {
			t.Errorf("%v is there twice", m)
		} else {
			seen[key] = true
		}
	}
}

// Goal: the rule above sees every kind of wrong entry.
func TestWrongEntriesAreSeen(t *testing.T) {
	t.Parallel()
	good := mutant{"robustness/mutants/doc.go", "// Command mutants", "// Command", "the doc comment is wrong", "robustness/mutants: TestWrongEntriesAreSeen"}
	if err := checkAll(tree, []mutant{good}); err != nil {
		t.Error("a good entry:", err)
	}
	for what, change := range map[string]func(m *mutant){
		"no such file":             func(m *mutant) { m.file = "gone.go" },
		"a text not once":          func(m *mutant) { m.old = "mutant" },
		"a text that is not there": func(m *mutant) { m.old = "no such " + "text" },
		"no change":                func(m *mutant) { m.new = m.old },
		"no sentence":              func(m *mutant) { m.when = "" },
		"no such test":             func(m *mutant) { m.tests = "robustness/mutants: TestGone" },
		"no such package":          func(m *mutant) { m.tests = "robustness/gone: TestWrongEntriesAreSeen" },
	} {
		bad := good
		change(&bad)
		if checkAll(tree, []mutant{good, bad}) == nil {
			t.Errorf("%s was not seen", what)
		}
	}
}

// Goal: a mutant is killed only if each of its tests fails, and for a good reason.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 1")
	for what, c := range map[string]struct {
		output   string
		ended    error
		survived []string
		wrong    bool
	}{
		"both fail":            {"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/x\n--- FAIL: TestB (0s)\nFAIL\n", failed, nil, false},
		"one passes":           {"--- FAIL: TestA (0.1s)\n--- PASS: TestB (0s)\nFAIL\n", failed, []string{"TestB"}, false},
		"both pass":            {"--- PASS: TestA (0.1s)\n--- PASS: TestB (0s)\nok\n", nil, []string{"TestA", "TestB"}, false},
		"only a subtest":       {"    --- FAIL: TestA/x\n", failed, []string{"TestA", "TestB"}, true},
		"no build":             {"x.go:1: syntax\nFAIL\tpackage [build failed]\n", failed, nil, true},
		"no Lua":               {"--- FAIL: TestA\nERR user_script:3: attempt to index a nil value\n--- FAIL: TestB\n", failed, nil, true},
		"a hang":               {"--- FAIL: TestA (0.1s)\npanic: test timed out after 1m0s\n", failed, nil, true},
		"a panic":              {"panic: no hold\n--- FAIL: TestA\n--- FAIL: TestB\n", failed, nil, true},
		"nothing ran":          {"testing: warning: no tests to run\n", nil, nil, true},
		"it ended by itself":   {"", failed, []string{"TestA", "TestB"}, true},
		"a leak at the end":    {"--- PASS: TestA\n--- PASS: TestB\ngoleak: found unexpected goroutines\n", failed, []string{"TestA", "TestB"}, true},
		"a word in the output": {"--- FAIL: TestA\n    x_test.go:1: panic: in a message\n--- FAIL: TestB\n", failed, nil, false},
	} {
		v := judge([]string{"TestA", "TestB"}, c.output, c.ended)
		if !slices.Equal(v.survived, c.survived) && v.wrong == nil || (v.wrong != nil) != c.wrong {
			t.Errorf("%s: survived %q, wrong: %v", what, v.survived, v.wrong)
		}
	}
}

// Goal: docs/guarantees.md says what the table says. If this fails, run "make guarantees".
func TestTheGuaranteesAgreeWithTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(tree, guarantees))
	if err != nil {
		t.Fatal(err)
	}
	now, then := strings.Split(string(text), "\n"), strings.Split(rewrite(string(text), table), "\n")
	for i := range now {
		if now[i] != then[i] {
			t.Errorf("line %d is\n%s\nwant\n%s\n(make guarantees writes it)", i+1, now[i], then[i])
		}
	}
}

func TestCellsAreRewritten(t *testing.T) {
	t.Parallel()
	all := []mutant{
		{when: "the reply was ignored", tests: "TestA, TestB"},
		{when: "nobody was told", tests: "internal/x: TestC"},
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
