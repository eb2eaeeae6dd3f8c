package fence

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// Table is a table whose rows guard themselves: a column of each row has the last token that
// wrote it. Add the column to an existing table by
//
//	ALTER TABLE stock ADD COLUMN fence BIGINT NOT NULL DEFAULT 0
//
// Names are quoted, so write them exactly as the database stores them. PostgreSQL stores the
// names of an unquoted CREATE TABLE in lower case.
type Table struct {
	Name    string   // may have its schema in front: "shop.stock"
	Key     []string // the columns that identify one row. Default: "id".
	Token   string   // the column of the last token, for Update. Default: "fence".
	Version string   // the column of the version, for UpdateIf. Default: "version".
	Style   Style    // Dollar for PostgreSQL, MySQL for MySQL and MariaDB
}

// Row is one row of a table.
type Row struct {
	table Table
	key   []any
}

// Row returns the row with this key: one value for each column of Table.Key. It does not use the
// database.
func (t Table) Row(key ...any) Row {
	if len(t.Key) == 0 {
		t.Key = []string{"id"}
	}
	t.Token = cmp.Or(t.Token, "fence")
	t.Version = cmp.Or(t.Version, "version")
	return Row{table: t, key: key}
}

// Update writes the row if no newer token has written it, and stores the token in it. The text
// set follows SET in the UPDATE statement, and args are its arguments:
//
//	err := stock.Row(7).Update(ctx, db, hold.Token(), "n = n - ?", 3)
//
// In the style Question each ? takes the next of args, and ?1 the first. In the style Dollar
// $1 takes the first. The highest placeholder belongs to the last of args. Update refuses a
// semicolon, a zero byte or the beginning of a comment in set, even in quotes. Pass texts in
// args. Never build set from input of others, because it becomes part of the statement.
//
// Check and write are one statement. The database orders two updates that meet. At an isolation
// above READ COMMITTED it may fail one of them instead, with its own error. In a transaction the
// row stays locked, and newer tokens wait, until the transaction ends. After a rollback the
// token has not passed.
//
// Update blocks as the database does and ends with ctx. The errors are ErrStale, ErrNoToken,
// ErrNoRow, or the database's, wrapped. After an error of the database, the row may have been
// written, unless db is a transaction. Then repeat the call only if repeating set does no harm.
func (r Row) Update(ctx context.Context, db DB, token int64, set string, args ...any) error {
	return r.pass(ctx, db, token, set+", ", args)
}

// Pass stores the token in the row, if no newer token has written it, and changes nothing else.
// Older holders are refused from then on, even before the new one writes: see Lock. It blocks,
// fails and ends as Update does. It is safe to repeat the call.
func (r Row) Pass(ctx context.Context, db DB, token int64) error {
	return r.pass(ctx, db, token, "", nil)
}

func (r Row) pass(ctx context.Context, db DB, token int64, set string, args []any) error {
	err := check(token)
	if err == nil {
		err = r.write(ctx, db, guard{column: r.table.Token, passes: "<=", now: token, next: token}, set, args)
	}
	return r.failure(err)
}

// UpdateIf writes the row if it still has the version with which it was read. It gives the row
// the next version, and returns that. It needs no lock and no token, only a column:
//
//	ALTER TABLE stock ADD COLUMN version BIGINT NOT NULL DEFAULT 0
//
// Of two updates from one version the second gets ErrConflict: read the row again and decide
// anew. Set and args, and the order of two updates that meet, are as in Update. NULL counts as
// version 0.
//
// In a transaction the returned version is valid once Commit has returned nil. After a rollback,
// or an error of Commit, read the row again: others may have made the same version.
//
// After an error it returns the given version. The errors are ErrConflict, ErrNoRow, or the
// database's, wrapped. After an error of the database, the row may have been written, unless db
// is a transaction. If it was, a repetition returns ErrConflict.
func (r Row) UpdateIf(ctx context.Context, db DB, version int64, set string, args ...any) (int64, error) {
	err := r.write(ctx, db, guard{column: r.table.Version, passes: "=", now: version, next: version + 1}, set+", ", args)
	if err != nil {
		return version, r.failure(err)
	}
	return version + 1, nil
}

// guard is the condition of an update. It compares a column with a number, and NULL counts as 0.
// The update stores another number in the column.
type guard struct {
	column, passes string
	now, next      int64
}

// refusal says why a row with this number in its column was not written.
func (g guard) refusal(has int64) error {
	switch {
	case g.passes == "=" && has != g.now:
		return fmt.Errorf("%w: %d, and the row has %d", ErrConflict, g.now, has)
	case has > g.now:
		return &StaleError{Token: g.now, Last: has}
	}
	return errUnexplained
}

// errUnexplained means that the row was inserted after the update had run, or that a trigger or
// a policy of the database has prevented the update.
var errUnexplained = errors.New("not written, though nothing newer has written the row: try again")

// write updates the row if the guard permits it. It writes the columns of set, which is empty or
// ends with a comma, and that of the guard.
func (r Row) write(ctx context.Context, db DB, g guard, set string, args []any) error {
	if err := r.valid(set, args); err != nil {
		return err
	}
	wrote, err := r.update(ctx, db, g, set, args)
	if wrote || err != nil {
		return err
	}
	has, err := r.read(ctx, db, g.column)
	if err == nil && has == g.now && g.now == g.next && r.table.Style == MySQL {
		// By default MySQL does not count a row that has all its new values already. Or the row
		// has come after the update: then another one writes it.
		_, err := r.update(ctx, db, g, set, args)
		return err
	}
	return cmp.Or(err, g.refusal(has))
}

// update runs the statement. It reports whether the database has counted a row.
func (r Row) update(ctx context.Context, db DB, g guard, set string, args []any) (wrote bool, err error) {
	s := &statement{style: r.table.Style, args: slices.Clone(args)}
	// A column follows set, so a condition in set is a syntax error.
	s.add("UPDATE ", s.style.quoteTable(r.table.Name), " SET ", set, s.style.quote(g.column), " = ", s.arg(g.next))
	r.where(s)
	s.add(" AND COALESCE(", s.style.column(r.table.Name, g.column), ", 0) ", g.passes, " ", s.arg(g.now))
	result, err := s.exec(ctx, db)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	if n > 1 {
		return true, fmt.Errorf("the key is not unique: %d rows were written", n)
	}
	return n == 1, err
}

// read returns a number of the row.
func (r Row) read(ctx context.Context, db DB, name string) (n int64, err error) {
	s := &statement{style: r.table.Style}
	s.add("SELECT COALESCE(", s.style.column(r.table.Name, name), ", 0) FROM ", s.style.quoteTable(r.table.Name))
	r.where(s)
	s.add(s.style.current())
	if n, err = s.number(ctx, db); errors.Is(err, sql.ErrNoRows) {
		return 0, ErrNoRow
	}
	return n, err
}

// where appends the condition that identifies the row.
func (r Row) where(s *statement) {
	s.add(" WHERE ")
	for i, name := range r.table.Key {
		if i > 0 {
			s.add(" AND ")
		}
		s.add(s.style.column(r.table.Name, name), " = ", s.arg(r.key[i]))
	}
}

func (r Row) valid(set string, args []any) error {
	switch {
	case r.table.Name == "":
		return errors.New("Table.Name is empty")
	case len(r.key) != len(r.table.Key):
		return fmt.Errorf("Row has %d values for the %d columns of Table.Key", len(r.key), len(r.table.Key))
	case r.table.Style.cutsOff(set):
		return errors.New("set has a semicolon, a zero byte, the beginning of a comment or, in MySQL, a backslash: pass texts in args")
	case r.table.Style.misplaces(set):
		return errors.New("set has a placeholder in quotes or in a word: pass texts in args")
	case r.table.Style.placeholders(set) != len(args):
		return fmt.Errorf("the highest placeholder in set is %d, for %d arguments", r.table.Style.placeholders(set), len(args))
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
