package fence

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Table is a table whose rows guard themselves: each has a column with the last token
// that wrote it. Add it to a table that exists by
//
//	ALTER TABLE stock ADD COLUMN fence BIGINT NOT NULL DEFAULT 0
//
// It is a plain value. Names are quoted, so write them just as the database keeps them:
// PostgreSQL keeps those of an unquoted CREATE TABLE in lower case.
type Table struct {
	Name    string   // may have its schema in front: "shop.stock"
	Key     []string // the columns that name one row; empty means "id"
	Token   string   // the column of the last token, for Update; empty means "fence"
	Version string   // the column of the version, for UpdateIf; empty means "version"
	Style   Style    // Dollar for PostgreSQL
}

// Row is one row of a table.
type Row struct {
	table Table
	key   []any
}

// Row returns the row with this key: one value for each column of Table.Key. It asks
// nothing of the database.
func (t Table) Row(key ...any) Row {
	if len(t.Key) == 0 {
		t.Key = []string{"id"}
	}
	t.Token = cmp.Or(t.Token, "fence")
	t.Version = cmp.Or(t.Version, "version")
	return Row{table: t, key: key}
}

// Update writes the row if no newer token has written it, and leaves the token in it.
// The text set is what stands behind SET in an UPDATE, and args are its arguments:
//
//	err := stock.Row(7).Update(ctx, db, hold.Token(), "n = n - ?", 3)
//
// In the style Dollar its marks begin at $1. It is part of the statement: never build it
// from what others have sent.
//
// Check and write are one statement. Two that meet are ordered by the database; at an
// isolation above READ COMMITTED it may instead fail one of them, with its own error.
// In a transaction the row stays locked, and newer tokens wait, until it ends; what is
// rolled back has not passed.
//
// It blocks as the database does and ends with ctx. The errors are ErrStale, ErrNoToken,
// ErrNoRow, or the database's, wrapped: after one of these the row may be written if db
// is no transaction, and repeating the call is harmless where repeating set is.
func (r Row) Update(ctx context.Context, db DB, token int64, set string, args ...any) error {
	err := check(token)
	if err == nil {
		err = r.update(ctx, db, token, set, args)
	}
	return r.failure(err)
}

func (r Row) update(ctx context.Context, db DB, token int64, set string, args []any) error {
	written, err := r.write(ctx, db, r.table.Token, token, set, args, func(s *statement) string {
		return "COALESCE(" + column(r.table.Name, r.table.Token) + ", 0) <= " + s.arg(token)
	})
	if err != nil || written {
		return err
	}
	last, err := r.read(ctx, db, r.table.Token)
	if err == nil && last > token {
		return &StaleError{Token: token, Last: last}
	}
	return cmp.Or(err, errUnexplained)
}

// UpdateIf writes the row if it still has the version with which it was read, and gives
// it the next one, which it returns. It needs no lock and no token, only a column:
//
//	ALTER TABLE stock ADD COLUMN version BIGINT NOT NULL DEFAULT 0
//
// Whoever comes second gets ErrConflict, reads the row again and decides anew. Set and
// args, and the order of two that meet, are as in Update. The errors are ErrConflict,
// ErrNoRow, or the database's, wrapped: after one of these the row may be written if db
// is no transaction, and a repetition that finds it written is an ErrConflict.
func (r Row) UpdateIf(ctx context.Context, db DB, version int64, set string, args ...any) (int64, error) {
	written, err := r.write(ctx, db, r.table.Version, version+1, set, args, func(s *statement) string {
		return column(r.table.Name, r.table.Version) + " = " + s.arg(version)
	})
	if err != nil || written {
		return version + 1, r.failure(err)
	}
	now, err := r.read(ctx, db, r.table.Version)
	switch {
	case err != nil:
	case now != version:
		err = fmt.Errorf("%w: %d, and the row has %d", ErrConflict, version, now)
	default:
		err = errUnexplained
	}
	return 0, r.failure(err)
}

// errUnexplained: the row came into being after the update had looked for it, or a
// trigger or a policy of the database has kept the update from it.
var errUnexplained = errors.New("not written, though nothing newer has written the row: try again")

// write updates the row where the condition holds, with one more column set to mark. It
// reports whether there was such a row.
func (r Row) write(ctx context.Context, db DB, mark string, value int64, set string, args []any, condition func(*statement) string) (bool, error) {
	if err := r.valid(); err != nil {
		return false, err
	}
	s := &statement{style: r.table.Style, args: append([]any(nil), args...)}
	s.add("UPDATE ", quoteTable(r.table.Name), " SET ", set, ", ", quote(mark), " = ", s.arg(value))
	r.where(s)
	s.add(" AND ", condition(s))
	n, err := s.exec(ctx, db)
	if err == nil && n > 1 {
		err = fmt.Errorf("the key is not unique: %d rows were written", n)
	}
	return n == 1, err
}

// read returns a number of the row.
func (r Row) read(ctx context.Context, db DB, name string) (int64, error) {
	s := &statement{style: r.table.Style}
	s.add("SELECT COALESCE(", column(r.table.Name, name), ", 0) FROM ", quoteTable(r.table.Name))
	r.where(s)
	n, err := s.number(ctx, db)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNoRow
	}
	return n, err
}

// where appends the condition that names the row.
func (r Row) where(s *statement) {
	s.add(" WHERE ")
	for i, name := range r.table.Key {
		if i > 0 {
			s.add(" AND ")
		}
		s.add(column(r.table.Name, name), " = ", s.arg(r.key[i]))
	}
}

func (r Row) valid() error {
	switch {
	case r.table.Name == "":
		return errors.New("Table.Name is empty")
	case len(r.key) != len(r.table.Key):
		return fmt.Errorf("Row has %d values for the %d columns of Table.Key", len(r.key), len(r.table.Key))
	}
	return nil
}

// failure says which row an error is about.
func (r Row) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("fence: row %v of %s: %w", r.key, r.table.Name, err)
}
