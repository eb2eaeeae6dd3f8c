package fence

import (
	"context"
	"database/sql"
	"strings"
)

// DB is the part of a database that a guard needs. *sql.DB, *sql.Tx and *sql.Conn implement it.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
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

// arg adds an argument and returns its placeholder.
func (s *statement) arg(value any) string {
	s.args = append(s.args, value)
	return s.style.placeholder(len(s.args))
}

// exec runs the statement.
func (s *statement) exec(ctx context.Context, db DB) (sql.Result, error) {
	return db.ExecContext(ctx, s.text.String(), s.args...)
}

// number runs a query of one number.
func (s *statement) number(ctx context.Context, db DB) (n int64, err error) {
	err = db.QueryRowContext(ctx, s.text.String(), s.args...).Scan(&n)
	return n, err
}
