package fence_test

import (
	"cmp"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/fence"
)

func (db database) ledgerWithoutToken(t *testing.T) {
	ledger := fence.Ledger{DB: db.DB, Table: tableName(t), Style: db.style}
	db.must(t, "CREATE TABLE "+ledger.Table+" (resource TEXT PRIMARY KEY, token BIGINT)")
	db.must(t, "INSERT INTO "+ledger.Table+" VALUES ('r', NULL)")
	refuses(t, func(token int64) error { return ledger.Pass(t.Context(), token, "r") })
}

// Goal: everything that a transaction writes is guarded by its pass.
// Method: transactions with random tokens write them into a log, whose order is the
// order in which they had the resource, and never goes back. Some are rolled back: their
// tokens have not passed.
func (db database) ledgerOrdersTransactions(t *testing.T) {
	ledger, log := db.ledger(t), tableName(t)
	id := "INTEGER PRIMARY KEY AUTOINCREMENT"
	if db.style == fence.Dollar {
		id = "BIGSERIAL PRIMARY KEY"
	}
	db.must(t, "CREATE TABLE "+log+" (id "+id+", token BIGINT NOT NULL)")
	var undone atomic.Int64
	passed, newest := crowd(t, 6, 25, func(token int64) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := ledger.PassIn(t.Context(), tx, token, "log"); err != nil {
			return err
		}
		if _, err := tx.Exec(db.marks("INSERT INTO "+log+" (token) VALUES (?)"), token); err != nil {
			return err
		}
		if rand.IntN(4) == 0 {
			undone.Add(1)
			return cmp.Or(tx.Rollback(), errUndone)
		}
		return tx.Commit()
	})
	var rows, back int64
	must(t, db.QueryRow("SELECT COUNT(*) FROM "+log).Scan(&rows))
	must(t, db.QueryRow("SELECT COUNT(*) FROM "+log+" a JOIN "+log+" b ON a.id < b.id AND a.token > b.token").Scan(&back))
	if undone.Load() == 0 {
		t.Error("nothing was rolled back: this proves less")
	}
	wantStale(t, ledger.Pass(t.Context(), newest-1, "log"), newest-1, newest)
	if rows != passed || back != 0 {
		t.Errorf("%d passed and %d wrote; %d pairs are in the wrong order", passed, rows, back)
	}
}
