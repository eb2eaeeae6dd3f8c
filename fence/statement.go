package fence

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
)

// DB is the part of a database that a guard needs. *sql.DB, *sql.Tx and *sql.Conn implement it.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Style is the form of the placeholders in a statement.
type Style int

// The styles of SQLite and of PostgreSQL.
const (
	Question Style = iota // ?, or ?1, ?2, …
	Dollar                // $1, $2, …
)

// The placeholders of each style. SQLite accepts ?1, ?2, … as well as ?.
var (
	questionMark = regexp.MustCompile(`\?(\d*)`)
	dollarMark   = regexp.MustCompile(`\$(\d+)`)
)

// placeholders returns the highest argument number that a text refers to.
func (s Style) placeholders(text string) (last int) {
	form := questionMark
	if s == Dollar {
		form = dollarMark
	}
	for _, mark := range form.FindAllStringSubmatch(text, -1) {
		n := last + 1 // this is how SQLite counts a placeholder without a number
		if mark[1] != "" {
			n, _ = strconv.Atoi(mark[1]) // a number that is too large has no argument anyway
		}
		last = max(last, n)
	}
	return last
}

// statement is a statement under construction, with the arguments so far.
type statement struct {
	style Style
	args  []any
	text  strings.Builder
}

// add appends pieces of text.
func (s *statement) add(pieces ...string) {
	for _, piece := range pieces {
		s.text.WriteString(piece)
	}
}

// arg adds an argument and returns its placeholder. It has a number, because the text before it
// may use one argument twice, or contain a placeholder in quotes.
func (s *statement) arg(value any) string {
	s.args = append(s.args, value)
	sign := "?"
	if s.style == Dollar {
		sign = "$"
	}
	return sign + strconv.Itoa(len(s.args))
}

// exec runs the statement and returns how many rows it wrote.
func (s *statement) exec(ctx context.Context, db DB) (int64, error) {
	result, err := db.ExecContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// quote makes an identifier from any text.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteTable is quote for the name of a table, which may have its schema in front.
func quoteTable(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = quote(part)
	}
	return strings.Join(parts, ".")
}

// column names a column together with its table. If a column "x" does not exist, SQLite reads a
// bare "x" as the text x. Then a misspelt key could match other rows.
func column(table, name string) string {
	return quote(table[strings.LastIndex(table, ".")+1:]) + "." + quote(name)
}
