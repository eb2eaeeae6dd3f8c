package fence

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// Ledger is a separate table with the last token of each resource. It guards what no single row
// can: inserts, deletes, several tables in one transaction. As a Store it outlives the processes
// that use it.
//
// Schema creates the table. The table grows by one row for each resource. Do not delete the rows
// of resources to which a paused holder may still write.
type Ledger struct {
	DB    *sql.DB // for Pass
	Table string  // may have its schema in front. Default: "fences".
	Style Style   // Dollar for PostgreSQL, MySQL for MySQL and MariaDB
}

var _ Store = Ledger{}

// Schema is the statement that creates the table if it does not exist.
func (l Ledger) Schema() string {
	resource := "TEXT"
	if l.Style == MySQL { // a text of MySQL ignores case, and cannot be a key
		resource = "VARBINARY(" + strconv.Itoa(longestMySQL) + ")"
	}
	return "CREATE TABLE IF NOT EXISTS " + l.Style.quoteTable(l.table()) +
		" (resource " + resource + " PRIMARY KEY, token BIGINT NOT NULL)"
}

// longestMySQL is the length in bytes up to which every configuration of InnoDB has a key.
const longestMySQL = 767

// Pass is Store.Pass, in a transaction of its own. It orders the tokens, but not the writes that
// follow. It blocks as the database does and ends with ctx.
func (l Ledger) Pass(ctx context.Context, token int64, resource string) error {
	return l.PassIn(ctx, l.DB, token, resource)
}

// PassIn is Pass within a transaction, as its first statement:
//
//	tx, err := db.BeginTx(ctx, nil)
//	defer tx.Rollback()
//	err = ledger.PassIn(ctx, tx, hold.Token(), "stock:7") // then the writes, then Commit
//
// Other tokens of the resource wait until the transaction ends, so its writes are guarded, too.
// After a rollback the token has not passed. Roll back after an error.
//
// MySQL may answer with the error 1213, a deadlock, while the first transactions of a new resource
// meet and one is rolled back. It has rolled back this transaction as well: repeat it.
func (l Ledger) PassIn(ctx context.Context, tx DB, token int64, resource string) error {
	err := check(token)
	if err == nil {
		err = l.pass(ctx, tx, token, resource)
	}
	if err != nil {
		return fmt.Errorf("fence: resource %q in %s: %w", resource, l.table(), err)
	}
	return nil
}

func (l Ledger) pass(ctx context.Context, tx DB, token int64, resource string) error {
	if l.Style == MySQL {
		return l.passMySQL(ctx, tx, token, resource)
	}
	s := &statement{style: l.Style}
	s.add("INSERT INTO ", l.Style.quoteTable(l.table()), " (resource, token) VALUES (", s.arg(resource), ", ", s.arg(token),
		") ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE COALESCE(",
		l.Style.column(l.table(), "token"), ", 0) <= excluded.token")
	result, err := s.exec(ctx, tx)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	last, err := l.last(ctx, tx, resource)
	return cmp.Or[error](err, &StaleError{Token: token, Last: last})
}

// passMySQL raises the last token, and then reads it: the number of rows that MySQL has written
// depends on the options of the connection.
func (l Ledger) passMySQL(ctx context.Context, tx DB, token int64, resource string) error {
	if len(resource) > longestMySQL {
		return fmt.Errorf("the resource has %d bytes, more than %d", len(resource), longestMySQL)
	}
	s := &statement{style: MySQL}
	s.add("INSERT INTO ", MySQL.quoteTable(l.table()), " (resource, token) VALUES (", s.arg(resource), ", ", s.arg(token),
		") ON DUPLICATE KEY UPDATE token = GREATEST(COALESCE(token, 0), ", s.arg(token), ")")
	if _, err := s.exec(ctx, tx); err != nil {
		return err
	}
	last, err := l.last(ctx, tx, resource)
	if err != nil || last == token {
		return err
	}
	return &StaleError{Token: token, Last: last}
}

// last reads the last token of a resource.
func (l Ledger) last(ctx context.Context, tx DB, resource string) (int64, error) {
	s := &statement{style: l.Style}
	s.add("SELECT token FROM ", l.Style.quoteTable(l.table()), " WHERE resource = ", s.arg(resource), l.Style.current())
	return s.number(ctx, tx)
}

func (l Ledger) table() string { return cmp.Or(l.Table, "fences") }
