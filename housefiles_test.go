package redlatch_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What may stand in a file of the tree, and how long it may grow. Who may import whom is in
// house_test.go.

const (
	houseMaxLines    = 320
	houseMaxFunction = 60
)

func TestHouseHasNoLongFiles(t *testing.T) {
	t.Parallel()
	eachFile(t, func(path string, text []byte) {
		if !isProduct(path) {
			return
		}
		if n := bytes.Count(text, []byte("\n")); n > houseMaxLines {
			t.Errorf("%s has %d lines, more than %d: which noun is hiding in it?", path, n, houseMaxLines)
		}
	})
}

func TestHouseHasNoLongFunctions(t *testing.T) {
	t.Parallel()
	eachFile(t, func(path string, text []byte) {
		if !isProduct(path) {
			return
		}
		for name, n := range longFunctions(t, path, text) {
			t.Errorf("%s: %s has %d lines, more than %d: which thought is hiding in it?", path, name, n, houseMaxFunction)
		}
	})
}

// Goal: the rule above counts from the first line of a function to its last.
func TestHouseSeesLongFunctions(t *testing.T) {
	t.Parallel()
	text := "package p\n" +
		"func fits() {" + strings.Repeat("\n", houseMaxFunction-1) + "}\n" +
		"func long() {" + strings.Repeat("\n", houseMaxFunction) + "}\n"
	got := longFunctions(t, "p.go", []byte(text))
	if want := map[string]int{"long": houseMaxFunction + 1}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestHouseKnowsNoMachine(t *testing.T) {
	t.Parallel()
	eachFile(t, func(path string, text []byte) {
		if filepath.Base(path) != "go.sum" { // its hashes are base64, which has slashes
			reportLines(t, path, text, homes, machinePath, "a path of one machine")
		}
	})
}

func TestHouseLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	eachFile(t, func(path string, text []byte) {
		if slices.Contains([]string{".go", ".lua", ".java", ".sh"}, filepath.Ext(path)) {
			reportLines(t, path, text, markers, openMarker, "work left open")
		}
		reportLines(t, path, text, []string{"ventually("}, pollsClock, "a sleep that looks like a condition: wait for a signal, or say time.Sleep")
	})
}

func TestHousePatternsMatchWhatTheyForbid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/" + "home/me/x", `"/` + "root/x", "cd /" + "work/x", "=/" + "Users/me/"} {
		if !machinePath.MatchString(text) {
			t.Errorf("%q was not seen as a path of one machine", text)
		}
	}
	for _, text := range []string{"https://example.org/" + "home/x", "./" + "work/x", "/usr/bin/env"} {
		if machinePath.MatchString(text) {
			t.Errorf("%q was seen as a path of one machine", text)
		}
	}
	if !pollsClock.MatchString("redistest.Eventually"+"(t, limit, func() bool { return time.Since(began) > second }, what)") ||
		pollsClock.MatchString("eventually"+"(t, func() bool { return done.Load() }, time.Since(began).String())") {
		t.Error("the pattern of sleeps is wrong")
	}
	if !openMarker.MatchString("// TO"+"DO: later") || openMarker.MatchString("mastodons") {
		t.Error("the marker pattern is wrong")
	}
}

// Both patterns are put together from pieces, so that this file passes too.
var (
	homes       = []string{"/" + "home/", "/" + "root/", "/" + "work/", "/" + "Users/"}
	markers     = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}
	machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.})])(` + strings.Join(homes, "|") + `)`)
	pollsClock  = regexp.MustCompile(`ventually\(.*\{ return time\.(Since|Now)\(`)
	openMarker  = regexp.MustCompile(`\b(` + strings.Join(markers, "|") + `)\b`)
)

// privateWords are images that this project once used, each with the word that says it plainly.
var privateWords = map[string]string{
	"astray":   "redirected",
	"ballot":   "quorum attempt",
	"bid":      "attempt",
	"council":  "sentinels",
	"crowded":  "has waiters",
	"cue":      "event",
	"debt":     "pending clean-up",
	"derailed": "failed",
	"disband":  "release",
	"era":      "connection generation",
	"errand":   "request",
	"heart":    "keep-alive",
	"kin":      "process tree",
	"mute":     "publish denied",
	"parting":  "group release",
	"pivot":    "blocker",
	"poke":     "wake",
	"shunt":    "exec",
	"shunted":  "sent",
	"siding":   "connection",
	"survey":   "query",
	"tenure":   "grant",
	"vacate":   "leave",
	"voice":    "pending",
	"yard":     "dedicated pool",
}

func TestHouseSpeaksPlainly(t *testing.T) {
	t.Parallel()
	eachFile(t, func(path string, text []byte) {
		if path == "housefiles_test.go" || !slices.Contains([]string{".go", ".lua", ".inc", ".md"}, filepath.Ext(path)) {
			return
		}
		suspects, number := suspectsIn(strings.ToLower(string(text))), 0
		for line := range strings.Lines(string(text)) {
			number++
			for _, word := range privateIn(line, suspects) {
				t.Errorf("%s:%d: say %q rather than %q: %s", path, number, privateWords[word], word, strings.TrimSpace(line))
			}
		}
	})
}

// Goal: the rule above sees a word in prose and in identifiers, and no word that contains it.
func TestHouseSeesPrivateWords(t *testing.T) {
	t.Parallel()
	for word := range privateWords {
		title := strings.ToUpper(word[:1]) + word[1:]
		for _, line := range []string{word, "a " + title + ".", "new" + title + "At(x)", word + "s", strings.ToUpper(word)} {
			if got := privateIn(line, suspectsIn(strings.ToLower(line))); !slices.Equal(got, []string{word}) {
				t.Errorf("%q: got %q, want %q", line, got, word)
			}
		}
		longer := "over" + word + "ish"
		if got := privateIn(longer, suspectsIn(longer)); len(got) > 0 {
			t.Errorf("a longer word was taken for %q", got)
		}
	}
}

// suspectsIn returns the private words whose letters occur in a text, which is in lower case.
func suspectsIn(lower string) (suspects []string) {
	for word := range privateWords {
		if strings.Contains(lower, word) {
			suspects = append(suspects, word)
		}
	}
	return suspects
}

// privateIn returns the private words of a line, in their singular. An identifier counts as the words
// that it is put together from. The suspects are those that the text around it may have.
func privateIn(line string, suspects []string) []string {
	lower := strings.ToLower(line)
	if !slices.ContainsFunc(suspects, func(word string) bool { return strings.Contains(lower, word) }) {
		return nil // most lines, and this is cheaper
	}
	var private []string
	for _, word := range words.FindAllString(line, -1) {
		word = strings.ToLower(word)
		for _, form := range []string{word, strings.TrimSuffix(word, "s")} {
			if privateWords[form] != "" {
				private = append(private, form)
				break
			}
		}
	}
	return private
}

var words = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// isProduct says whether a file is Go of the product: no test.
func isProduct(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
}

// longFunctions returns the functions of a file that are too long, and how long they are.
func longFunctions(t *testing.T, path string, text []byte) map[string]int {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	long := map[string]int{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1; n > houseMaxFunction {
			long[f.Name.Name] = n
		}
	}
	return long
}

// eachFile calls f for every text file of the tree, other modules included.
func eachFile(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	built := []string{".git", "bin", "target"} // not source
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(built, entry.Name()):
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !bytes.Contains(text, []byte{0}) {
			f(filepath.ToSlash(path), text)
		}
		return err
	})
	if err != nil {
		t.Fatalf("walk the tree: %v", err)
	}
}

// reportLines reports every line of a file that matches. A match contains one of the words.
func reportLines(t *testing.T, path string, text []byte, words []string, pattern *regexp.Regexp, what string) {
	t.Helper()
	if !slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) }) {
		return // most files, and this is cheaper
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if pattern.Match(line) {
			t.Errorf("%s:%d: %s: %s", path, number, what, bytes.TrimSpace(line))
		}
	}
}

// The file for a public host runs what the build machine runs: each target that a step of a job names.
func TestThePublicHostRunsWhatTheBuildMachineRuns(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	workflow := read(".github/workflows/ci.yml")
	public := regexp.MustCompile(`(?m)^ *- run: .*\bmake ([a-z0-9]+)`).FindAllStringSubmatch(workflow, -1)
	if strings.Contains(workflow, "- run: make ${{ matrix.target }}\n") {
		public = append(public, regexp.MustCompile(`(?m)^ *- \{.* target: ([a-z0-9]+)`).FindAllStringSubmatch(workflow, -1)...)
	}
	_, check, found := strings.Cut(read("Makefile"), "\ncheck: ")
	if run := read(".ci/run"); !found || !strings.Contains(run, " make test ") || !strings.Contains(run, " make check ") {
		t.Fatal(".ci/run does not run make test and make check")
	}
	own, _, _ := strings.Cut(check, " ##")
	for _, target := range append(strings.Fields(own), "test") {
		if !slices.ContainsFunc(public, func(step []string) bool { return step[1] == target }) {
			t.Errorf("no step of .github/workflows/ci.yml runs make %s, and .ci/run does", target)
		}
	}
}
