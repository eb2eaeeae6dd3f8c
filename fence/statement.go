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
	Question Style = iota // ?
	Dollar                // $1, $2, …
)

// dollarMark is a mark of the style Dollar.
var dollarMark = regexp.MustCompile(`\$(\d+)`)

// marks counts the arguments that a text has marks for. If it has others than it is given,
// those of the guard would take their places.
func (s Style) marks(text string) (count int) {
	if s == Question {
		return strings.Count(text, "?")
	}
	for _, mark := range dollarMark.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(mark[1]) // too great a number is one that nobody has given
		count = max(count, n)
	}
	return count
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

// arg adds an argument and returns its mark. Marks of the style Question go by their
// place, so arguments are added in the order of the text.
func (s *statement) arg(value any) string {
	s.args = append(s.args, value)
	if s.style == Dollar {
		return "$" + strconv.Itoa(len(s.args))
	}
	return "?"
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
