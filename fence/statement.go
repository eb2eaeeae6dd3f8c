package fence

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
)

// DB is what a guard needs of a database. *sql.DB, *sql.Tx and *sql.Conn have it.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Style is how a database wants the arguments of a statement to be marked.
type Style int

// The styles of SQLite and of PostgreSQL.
const (
	Question Style = iota // ?, or ?1, ?2, …
	Dollar                // $1, $2, …
)

// The marks of each style. SQLite takes ?1, ?2, … as well as ?.
var (
	questionMark = regexp.MustCompile(`\?(\d*)`)
	dollarMark   = regexp.MustCompile(`\$(\d+)`)
)

// marks returns the number of the last argument that a text has marks for.
func (s Style) marks(text string) (last int) {
	form := questionMark
	if s == Dollar {
		form = dollarMark
	}
	for _, mark := range form.FindAllStringSubmatch(text, -1) {
		n := last + 1 // this is how SQLite counts a mark without a number
		if mark[1] != "" {
			n, _ = strconv.Atoi(mark[1]) // too great a number is one that nobody has given
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

// arg adds an argument and returns its mark. The mark has a number, because the text in
// front of it may use one argument twice, or have a mark in quotes.
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

// number runs a query for one number.
func (s *statement) number(ctx context.Context, db DB) (n int64, err error) {
	err = db.QueryRowContext(ctx, s.text.String(), s.args...).Scan(&n)
	return n, err
}

// quote makes an identifier of any text.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteTable is quote for a table, which may have its schema in front of it.
func quoteTable(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		parts[i] = quote(part)
	}
	return strings.Join(parts, ".")
}

// column names a column together with its table. SQLite takes a lone "x" for the text x
// where there is no column of that name: a misspelt key would match rows of any kind.
func column(table, name string) string {
	return quote(table[strings.LastIndex(table, ".")+1:]) + "." + quote(name)
}
