package docs_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Goal: the page on errors has one table of answers, with each error of the library once, and one with each
// error of package fence. Each answer is one of HTTP and of gRPC. Method: compare the first column with the
// sources.
func TestTheTablesOfErrorsHaveEveryErrorOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ section, file, declared, named string }{
		{"In short", "errors.go", `(?m)^(?:\t|type )(Err\w+|\w+Error) +=`, "`\\*?(\\w+Error|Err\\w+)`"},
		{"Errors of package fence", "fence/errors.go", `(?m)^\t(Err\w+) +=`, "`fence\\.(Err\\w+)`"},
	} {
		want := namedIn(t, c.file, c.declared)
		var got []string
		for _, row := range errorRows(t, c.section) {
			for _, name := range regexp.MustCompile(c.named).FindAllStringSubmatch(row.error, -1) {
				got = append(got, name[1])
			}
			row.check(t)
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(want) < 5 || !slices.Equal(got, want) {
			t.Errorf("%s: the table has %q, and %s declares %q", c.section, got, c.file, want)
		}
	}
}

// Goal: the locker example answers as the page says. Method: compare each status of its table with the row of
// the error, and its last answer with the row of any other error.
func TestTheLockerAnswersAsThePageSays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(tree, "examples/locker/answer.go"))
	must(t, err)
	answers := regexp.MustCompile(`\{(?:redlatch|context)\.(\w+), problem\{status: (?:http\.Status)?(\w+)|var (stopping|unavailable) = problem\{status: http\.Status(\w+)`)
	rowOf := map[string]string{
		"Canceled": "cancelled by the client", "stopping": "`ErrClosed`", "unavailable": "any other error",
	}
	found := answers.FindAllStringSubmatch(string(text), -1)
	if len(found) < 7 {
		t.Fatalf("found %d answers of the locker", len(found))
	}
	rows := errorRows(t, "In short")
	for _, answer := range found {
		name, status := answer[1]+answer[3], answer[2]+answer[4]
		says := rowOf[name]
		if says == "" {
			says = "`" + name + "`"
		}
		at := slices.IndexFunc(rows, func(r errorRow) bool { return strings.Contains(r.error, says) })
		if code := statusCode(status); at < 0 || !strings.Contains(rows[at].http, strconv.Itoa(code)) {
			t.Errorf("the locker answers %d for %s, and the page has no row that says so", code, name)
		}
	}
}

// statusCode is the number of a constant of net/http without its prefix, or of the one that the locker adds.
func statusCode(name string) int {
	if name == "clientGone" {
		return 499
	}
	for code := range 600 {
		if strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(code)) == name {
			return code
		}
	}
	return -1
}

// errorRow is a row of a table of answers.
type errorRow struct{ error, http, grpc string }

// check reports an answer that is none.
func (r errorRow) check(t *testing.T) {
	t.Helper()
	codes := regexp.MustCompile(`\d{3}`).FindAllString(r.http, -1)
	for _, code := range codes {
		if n, _ := strconv.Atoi(code); http.StatusText(n) == "" && n != 499 {
			t.Errorf("%s: there is no status %s", r.error, code)
		}
	}
	known := []string{
		"`ABORTED`", "`CANCELLED`", "`DEADLINE_EXCEEDED`", "`FAILED_PRECONDITION`", "`INTERNAL`", "`INVALID_ARGUMENT`",
		"`NOT_FOUND`", "`UNAVAILABLE`",
	}
	if len(codes) == 0 || !slices.Contains(known, r.grpc) {
		t.Errorf("%s: the answers are %q and %q", r.error, r.http, r.grpc)
	}
}

// errorRows are the rows of the table in a section of the page on errors, whose last columns are the answers.
func errorRows(t *testing.T, section string) (rows []errorRow) {
	t.Helper()
	_, text, found := strings.Cut(readPage(t, filepath.Join(tree, "docs/errors.md")), "\n## "+section+"\n")
	if !found {
		t.Fatalf("the page lacks the section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 6 || cells[0] != "" || strings.Contains(line, "|---|") || strings.TrimSpace(cells[1]) == "Error" {
			continue
		}
		last := len(cells) - 2
		rows = append(rows, errorRow{cells[1], cells[last-1], strings.TrimSpace(cells[last])})
	}
	return rows
}
