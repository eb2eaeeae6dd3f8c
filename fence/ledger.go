package fence

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
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
	Style Style   // Dollar for PostgreSQL
}

var _ Store = Ledger{}

// Schema is the statement that creates the table if it does not exist.
func (l Ledger) Schema() string {
	return "CREATE TABLE IF NOT EXISTS " + quoteTable(l.table()) +
		" (resource TEXT PRIMARY KEY, token BIGINT NOT NULL)"
}

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
	s := &statement{style: l.Style}
	s.add("INSERT INTO ", quoteTable(l.table()), " (resource, token) VALUES (", s.arg(resource), ", ", s.arg(token),
		") ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE COALESCE(",
		column(l.table(), "token"), ", 0) <= excluded.token")
	if n, err := s.exec(ctx, tx); err != nil || n > 0 {
		return err
	}
	ask := &statement{style: l.Style}
	ask.add("SELECT token FROM ", quoteTable(l.table()), " WHERE resource = ", ask.arg(resource))
	stale := &StaleError{Token: token}
	return cmp.Or[error](tx.QueryRowContext(ctx, ask.text.String(), ask.args...).Scan(&stale.Last), stale)
}

func (l Ledger) table() string { return cmp.Or(l.Table, "fences") }
